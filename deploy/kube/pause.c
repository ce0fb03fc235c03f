/* The process of a pod's sandbox: it holds the namespaces, reaps children, ends when told to. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static void reap(int signal) {
  (void)signal;
  while (waitpid(-1, 0, WNOHANG) > 0) {
  }
}

static void end(int signal) {
  (void)signal;
  _exit(0);
}

int main(void) {
  struct sigaction reaping = {.sa_handler = reap, .sa_flags = SA_NOCLDSTOP};
  struct sigaction ending = {.sa_handler = end};
  sigaction(SIGCHLD, &reaping, 0);
  sigaction(SIGTERM, &ending, 0);
  sigaction(SIGINT, &ending, 0);
  for (;;) {
    pause();
  }
}
