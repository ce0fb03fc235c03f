//! Site of a recipe: the nodes of one lab, their places, their processes.

use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rustix::process::getuid;

use crate::card::RecipeOption;
use crate::clock;
use crate::cluster::{Cluster, NodeState};
use crate::error::LabError;
use crate::package_cache::PackageCache;
use crate::process::Server;
use crate::tool::{Tool, Watch};

/// How long a server may take to accept a connection, on the machine that it runs on.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);

/// A process that a recipe wants to have started.
#[derive(Clone, Debug)]
pub struct Launch {
    role: &'static str,
    program: PathBuf,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
    user: Option<&'static str>,
}

impl Launch {
    /// `program` as the node's `role`, one word that also names its log.
    pub fn new(role: &'static str, program: impl AsRef<Path>) -> Launch {
        Launch {
            role,
            program: program.as_ref().to_owned(),
            arguments: Vec::new(),
            environment: Vec::new(),
            user: None,
        }
    }

    /// With more arguments.
    pub fn args<S: Into<String>>(mut self, arguments: impl IntoIterator<Item = S>) -> Launch {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// With an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Launch {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// As this user, if we are root: some servers refuse to be.
    pub fn user(mut self, user: &'static str) -> Launch {
        self.user = Some(user);
        self
    }
}

/// One lab, as its recipe sees it.
pub struct Site<'a> {
    pub(crate) cluster: &'a mut Cluster,
    pub(crate) watch: &'a Watch<'a>,
}

impl Site<'_> {
    /// How many nodes there are, or are to be.
    pub fn nodes(&self) -> usize {
        self.cluster.nodes.len()
    }

    /// The nodes that run, by number: neither down nor frozen.
    pub fn running(&mut self) -> Vec<usize> {
        let nodes = self.cluster.nodes.iter_mut();
        let running = nodes.filter_map(|node| (node.state() == NodeState::Up).then_some(node));
        running.map(|node| node.number).collect()
    }

    /// The number of node `node`'s first process, if it has one.
    pub fn pid(&self, node: usize) -> Option<u32> {
        self.cluster.nodes[node - 1].servers.first().map(Server::pid)
    }

    /// The version that was requested.
    pub fn version(&self) -> &str {
        &self.cluster.version
    }

    /// The value of this option of its card.
    pub fn option(&self, option: &RecipeOption) -> &str {
        self.cluster.options.get(option)
    }

    /// The program, or folder, that the kit has under `name`.
    pub fn program(&self, name: &str) -> PathBuf {
        self.cluster.kit.program(name).to_owned()
    }

    /// The address of node `node`, from 1.
    pub fn address(&self, node: usize) -> String {
        self.cluster.address(node).to_string()
    }

    /// The address under which other nodes are told of node `node`: a proxy's, if there is one.
    pub fn peer_address(&self, node: usize) -> String {
        self.cluster.peer_address(node).to_string()
    }

    /// `HOST:PORT` of that address.
    ///
    /// # Panics
    /// If the card has no such port.
    pub fn peer_authority(&self, node: usize, port: &str) -> String {
        format!("{}:{}", self.peer_address(node), self.port(port))
    }

    /// The number of the port that the card calls `name`; the same on every node.
    ///
    /// # Panics
    /// If the card has no such port.
    pub fn port(&self, name: &str) -> u16 {
        let card = &self.cluster.card;
        let port = card.ports.iter().find(|port| port.name == name);
        port.unwrap_or_else(|| panic!("the card has no port {name}")).number + self.cluster.shift
    }

    /// `address:port` of node `node`.
    pub fn authority(&self, node: usize, port: &str) -> String {
        format!("{}:{}", self.address(node), self.port(port))
    }

    /// The authorities of all nodes with commas between them.
    pub fn authorities(&self, port: &str) -> String {
        let all: Vec<String> = (1..=self.nodes()).map(|node| self.authority(node, port)).collect();
        all.join(",")
    }

    /// The folder of node `node`; it exists.
    pub fn folder(&self, node: usize) -> PathBuf {
        self.cluster.nodes[node - 1].folder.clone()
    }

    /// Writes a file of node `node`, for a configuration.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, node: usize, name: &str, text: &str) -> Result<PathBuf, LabError> {
        let path = self.folder(node).join(name);
        let parent = path.parent().unwrap_or(&path);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| LabError::io(&path, "cannot write", error))?;
        Ok(path)
    }

    /// Gives the folder of node `node` to `user`, if we are root.
    ///
    /// # Errors
    /// If that cannot be done, or that user cannot reach it: folders above it keep others out.
    pub fn give_to(&self, node: usize, user: &str) -> Result<(), LabError> {
        if !getuid().is_root() {
            return Ok(());
        }
        let folder = self.folder(node);
        self.run(node, "chown", &["-R", user, &folder.display().to_string()], 60)?;
        for above in folder.ancestors().skip(1) {
            let Ok(known) = fs::metadata(above) else { continue };
            let mode = known.permissions().mode();
            if mode & 0o001 != 0 {
                continue;
            }
            if above != self.cluster.folder {
                return Err(LabError::Order(format!(
                    "{} keeps user {user} out, as whom the server has to run; name another place \
                     for labs, such as /var/lib/assay/lab",
                    above.display()
                )));
            }
            fs::set_permissions(above, fs::Permissions::from_mode(mode | 0o001))
                .map_err(|error| LabError::io(above, "cannot open the way to", error))?;
        }
        Ok(())
    }

    /// Runs a program as [`Site::run`] does, but as `user`, if we are root.
    ///
    /// # Errors
    /// As [`Site::run`].
    pub fn run_as(
        &self,
        user: &str,
        node: usize,
        program: impl AsRef<Path>,
        words: &[&str],
        seconds: u32,
    ) -> Result<String, LabError> {
        if !getuid().is_root() {
            return self.run(node, program, words, seconds);
        }
        let ids = [format!("--reuid={user}"), format!("--regid={user}")];
        let program = program.as_ref().display().to_string();
        let mut all = vec![&*ids[0], &*ids[1], "--clear-groups", "--", &program];
        all.extend(words);
        self.run(node, "setpriv", &all, seconds)
    }

    /// The same process with a clock that can be moved, if that was chosen.
    ///
    /// # Errors
    /// If the library for it is missing.
    pub fn with_clock(&self, node: usize, mut launch: Launch) -> Result<Launch, LabError> {
        if !self.cluster.has_movable_clocks() {
            return Ok(launch);
        }
        let file = self.cluster.clock_file(node);
        if !file.exists() {
            clock::set(&file, 0)?;
        }
        let library = clock::library(&PackageCache::new(&self.cluster.house, self.watch))?;
        // Only what runs as the server's user may load it: it makes semaphores of that user.
        let program = std::mem::replace(&mut launch.program, PathBuf::from("env"));
        let all = clock::environment(&library, &file);
        let words = all.iter().map(|(name, value)| format!("{name}={value}"));
        let words = words.chain([program.display().to_string()]);
        launch.arguments = words.chain(launch.arguments).collect();
        Ok(launch)
    }

    /// Starts a process of node `node`. It is ours from then on.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch(&mut self, node: usize, launch: Launch) -> Result<(), LabError> {
        self.watch.check()?;
        let prefix = self.cluster.prefix(node);
        let log = self.cluster.nodes[node - 1].logs.join(format!("{}.log", launch.role));
        let user = launch.user.filter(|_| getuid().is_root());
        let command = |process: &mut Command| {
            process.arg(&launch.program).args(&launch.arguments);
            process.envs(launch.environment.iter().cloned());
            process.current_dir("/");
        };
        let server = Server::spawn(launch.role, &prefix, user, command, &log)?;
        self.cluster.register(node, server.pid());
        let servers = &mut self.cluster.nodes[node - 1].servers;
        servers.retain(|other| other.role != launch.role);
        servers.push(server);
        // Observers of the lab see a node from its first moment on.
        self.cluster.write_down()
    }

    /// From now on the end of the processes of node `node` is expected.
    pub fn let_go(&mut self, node: usize) {
        self.cluster.nodes[node - 1].servers.iter_mut().for_each(Server::let_go);
    }

    /// Ends the processes of node `node`, by SIGTERM if they obey it. Their end is expected.
    pub fn end(&mut self, node: usize) {
        for mut server in self.cluster.nodes[node - 1].servers.drain(..).rev() {
            server.end();
        }
    }

    /// Runs a program in the place of node `node` to its end, for at most about `seconds`; gives
    /// what it printed.
    ///
    /// # Errors
    /// If it cannot be run, fails, or takes longer.
    pub fn run(
        &self,
        node: usize,
        program: impl AsRef<Path>,
        words: &[&str],
        seconds: u32,
    ) -> Result<String, LabError> {
        let tool = Tool::behind(&self.cluster.prefix(node), program.as_ref());
        tool.args(words.iter().copied()).run(seconds, self.watch)
    }

    /// Whether a port of node `node` accepts connections.
    pub fn is_listening(&self, node: usize, port: &str) -> bool {
        connect(&self.authority(node, port)).is_ok()
    }

    /// Waits until node `node` accepts connections at a port, for at most about `seconds`.
    ///
    /// # Errors
    /// If a process of the node ends before, or it takes longer; with the end of its log.
    pub fn wait_for_port(&mut self, node: usize, port: &str, seconds: u32) -> Result<(), LabError> {
        let what = format!("node {node} to listen at {}", self.authority(node, port));
        self.wait_until(&what, seconds, |site| Ok(site.is_listening(node, port)))
    }

    /// Waits until `has_come`, for at most about `seconds`.
    ///
    /// # Errors
    /// If a process of the lab ends before, looking fails, or it takes longer.
    pub fn wait_until(
        &mut self,
        what: &str,
        seconds: u32,
        mut has_come: impl FnMut(&Site<'_>) -> Result<bool, LabError>,
    ) -> Result<(), LabError> {
        let watch = self.watch;
        let waited = watch.until(what, seconds, || {
            self.check_alive()?;
            has_come(self)
        });
        waited.map_err(|error| match error {
            LabError::Failed(reason) => LabError::Failed(format!("{reason}{}", self.logs())),
            other => other,
        })
    }

    /// # Errors
    /// If a started process has ended, unless it was killed or stopped.
    pub fn check_alive(&mut self) -> Result<(), LabError> {
        for node in &mut self.cluster.nodes {
            for server in &mut node.servers {
                if let Some(how) = server.missed() {
                    let (role, words) = (&server.role, server.last_words());
                    let number = node.number;
                    return Err(LabError::Died(format!(
                        "the {role} of node {number} ended ({how}); its last words, in {}:\n{}",
                        server.log.display(),
                        words.trim_end()
                    )));
                }
            }
        }
        Ok(())
    }

    /// The ends of all logs, for an error.
    fn logs(&self) -> String {
        let servers = self.cluster.nodes.iter().flat_map(|node| &node.servers);
        let displayed = servers.map(|server| {
            format!("\n{}:\n{}", server.log.display(), server.last_words().trim_end())
        });
        displayed.collect()
    }

    /// Says what goes on.
    pub fn tell(&self, text: &str) {
        self.watch.tell(text);
    }

    /// The error of something that this store cannot do.
    pub fn cannot(&self, what: &str) -> LabError {
        LabError::Order(format!("{}: {what}", self.cluster.card.name))
    }
}

/// Connects to what [`Site::authority`] names, within a bounded time.
pub(crate) fn connect(authority: &str) -> std::io::Result<TcpStream> {
    let address = authority.parse::<SocketAddr>().map_err(std::io::Error::other)?;
    TcpStream::connect_timeout(&address, CONNECT_TIMEOUT)
}
