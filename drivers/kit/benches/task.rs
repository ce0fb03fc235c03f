//! Cost of the bridge to client libraries by itself: jobs that are done at once.
//!
//! Prints `bench task.<name> <in flight> <value> <unit>`. `now` is a job that its task answers in
//! its first turn, so its cost is all ours; `socket` is a byte sent through a pair of sockets
//! whose other end is a task in the same runtime, so it has what every connection has as well.

use std::time::{Duration, Instant};

use assay_driver_kit::task::{Completion, ConnectionState, JobCompletion, Library, Lost, Pool};
use assay_model::Nanos;
use assay_store::{Answer, Answers, OpenError, Ticket};
use tokio::net::UnixStream;

const OPERATIONS: u64 = 200_000;
const IN_FLIGHT: [usize; 3] = [1, 16, 64];

#[derive(Clone, Copy)]
enum Case {
    Now,
    Socket,
}

impl Library for Case {
    type Connection = Option<UnixStream>;
    type Job = ();

    async fn connect(&self) -> Result<Option<UnixStream>, OpenError> {
        let Case::Socket = self else { return Ok(None) };
        let (ours, theirs) = UnixStream::pair().expect("there are sockets");
        tokio::task::spawn_local(async move {
            let mut byte = [0];
            loop {
                theirs.readable().await.expect("the runtime lives");
                if theirs.try_read(&mut byte).is_ok_and(|count| count == 1) {
                    theirs.try_write(&byte).expect("one byte always fits");
                }
            }
        });
        Ok(Some(ours))
    }

    async fn perform(
        &self,
        connection: &mut Option<UnixStream>,
        _job: &mut (),
        _rows: &mut Vec<u8>,
    ) -> JobCompletion {
        if let Some(socket) = connection {
            socket.try_write(&[0]).expect("one byte always fits");
            while socket.try_read(&mut [0]).is_err() {
                socket.readable().await.expect("the runtime lives");
            }
        }
        JobCompletion::new(Completion::Done { found: true }, ConnectionState::Free)
    }

    async fn undo(&self, _connection: &mut Option<UnixStream>) -> Result<(), Lost> {
        Ok(())
    }
}

struct Count(u64);

impl Answers for Count {
    fn answer(&mut self, _ticket: Ticket, _answer: Answer<'_>) {
        self.0 += 1;
    }
}

fn main() {
    for (name, case) in [("now", Case::Now), ("socket", Case::Socket)] {
        for in_flight in IN_FLIGHT {
            run(name, case, in_flight);
        }
    }
    idle();
}

fn run(name: &str, case: Case, in_flight: usize) {
    let mut pool = Pool::open(case, in_flight, name).expect("there are resources");
    let mut count = Count(0);
    let mut requested = 0;
    let start = Instant::now();
    while count.0 < OPERATIONS {
        while requested < OPERATIONS && pool.is_ready() {
            requested += 1;
            pool.submit(Ticket(requested), 0, &mut count, |()| ());
        }
        pool.poll(Nanos::ZERO, &mut count);
    }
    let each = start.elapsed().as_secs_f64() * 1e6 / OPERATIONS as f64;
    println!("bench task.{name} {in_flight} {each:.3} us/op");
}

/// How late a wait of 100 µs ends when nothing happens.
fn idle() {
    let mut pool = Pool::open(Case::Now, 1, "idle").expect("there are resources");
    let mut late: Vec<Duration> = Vec::new();
    for _ in 0..2_000 {
        let timeout = Duration::from_micros(100);
        let start = Instant::now();
        pool.wait(timeout);
        late.push(start.elapsed().saturating_sub(timeout));
    }
    late.sort_unstable();
    let median = late[late.len() / 2].as_secs_f64() * 1e6;
    println!("bench task.wait-late-p50 1 {median:.1} us");
}
