//! An agent's end: joins, tells its news, learns its place and its start, delivers.
//!
//! A thread of its own tells the news and holds the lease: it shares nothing with the workers, so
//! that a loaded machine does not seem dead. An agent without a lease ends its load, whatever the
//! reason: a coordinator that is gone, a link that was cut, a process that was stopped.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use bytes::Bytes;
use rustls::pki_types::ServerName;

use crate::bucket::{Bucket, BucketError};
use crate::client::{CallError, ControlClient};
use crate::figures::LiveFigures;
use crate::gather::{PIECE, deliveries, sha256_of};
use crate::keys::{ALPN_PROBE, COORDINATOR, FleetKeys};
use crate::offset::{self, FRAME, StampClock};
use crate::protocol::{
    AgentState, Beat, Command, Deliveries, Directive, Hello, Job, Progress, RateOrder, Received,
    Welcome, WorkerPlace,
};

/// How often news are told before the run and after it, so that nobody waits for others.
const BEAT_EVERY: Duration = Duration::from_millis(100);
/// How often joining is tried while the coordinator is not there yet.
const JOIN_EVERY: Duration = Duration::from_millis(500);
/// The longest a call takes that moves no file.
const CALL_TIMEOUT: Duration = Duration::from_secs(5);
/// A call that the end of the lease cuts off ends so long after it, when it has lapsed.
const LAPSED_BY: Duration = Duration::from_millis(1);
/// The longest a call takes that moves one.
const FILE_TIMEOUT: Duration = Duration::from_secs(60);
/// How often a piece is sent again before the delivery is given up.
const ATTEMPTS: u32 = 10;

/// Why the load of an agent ends early.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The coordinator wants it: what was issued counts.
    Stop,
    /// The run was called off, or the coordinator is lost: nothing counts.
    Abort(String),
}

/// An agent's part in a fleet came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum AgentError {
    /// The coordinator cannot be reached.
    #[error("cannot reach the coordinator at {address} within {} s: {reason}", wait.as_secs_f64())]
    Unreachable {
        /// Its address.
        address: String,
        /// How long it was tried.
        wait: Duration,
        /// The last reason.
        reason: String,
    },
    /// The coordinator refuses, or does not know us.
    #[error("{0}")]
    Refused(String),
    /// The run was called off or the coordinator lost.
    #[error("{0}")]
    CalledOff(String),
    /// A file cannot be read here.
    #[error("cannot deliver {0}")]
    File(#[from] std::io::Error),
}

/// An agent that has joined.
pub struct Session {
    shared: Arc<Shared>,
    address: String,
    keys: Arc<FleetKeys>,
    welcome: Welcome,
    agent: u32,
}

struct Shared {
    news: Mutex<News>,
    changed: Condvar,
}

type Callback = Box<dyn Fn(&Ending) + Send>;
type RateCallback = Box<dyn Fn(RateOrder) + Send>;

struct News {
    beat: Beat,
    /// Whether the coordinator has called since the news were told.
    is_called: bool,
    /// What happened since the figures in the beat.
    figures: LiveFigures,
    /// Whether the coordinator has those in the beat.
    is_counted: bool,
    /// The state that the coordinator has heard of last.
    heard: Option<(AgentState, bool)>,
    order: Option<Directive>,
    ending: Option<Ending>,
    on_ending: Option<Callback>,
    on_rate: Option<RateCallback>,
    is_over: bool,
}

impl News {
    fn new(beat: Beat) -> News {
        News {
            beat,
            is_called: false,
            figures: LiveFigures::default(),
            is_counted: true,
            heard: None,
            order: None,
            ending: None,
            on_ending: None,
            on_rate: None,
            is_over: false,
        }
    }

    /// What is told now: the figures before again, if nobody knows whether they have come.
    fn next_beat(&mut self) -> Beat {
        self.is_called = false;
        if self.is_counted {
            self.is_counted = false;
            self.beat.number += 1;
            self.beat.figures = std::mem::take(&mut self.figures);
        }
        self.beat.clone()
    }

    /// Changes the rate as ordered: each order once, because the next beat counts them.
    fn take_rates(&mut self, orders: &[RateOrder]) {
        if let Some(act) = &self.on_rate {
            orders.iter().for_each(|order| act(*order));
            self.beat.rates += orders.len() as u32;
        }
    }
}

impl Session {
    /// Joins the coordinator at `address`, which may come later than the agent, by up to `wait`.
    ///
    /// # Errors
    /// If it does not come, does not know us, or refuses.
    pub fn join(
        address: &str,
        keys: FleetKeys,
        hello: Hello,
        wait: Duration,
    ) -> Result<Session, AgentError> {
        let mut client =
            ControlClient::new(address, &keys).map_err(|e| AgentError::Refused(e.to_string()))?;
        let begun = offset::moment();
        let welcome: Welcome = loop {
            match client.post("/v1/join", &hello, CALL_TIMEOUT) {
                Ok(welcome) => break welcome,
                Err(CallError::Unreachable(reason)) if offset::since(begun) >= wait => {
                    let address = address.to_owned();
                    return Err(AgentError::Unreachable { address, wait, reason });
                }
                Err(CallError::Unreachable(_)) => thread::sleep(JOIN_EVERY),
                Err(other) => return Err(AgentError::Refused(other.to_string())),
            }
        };
        let beat = Beat { agent: hello.agent, token: welcome.token, ..Beat::default() };
        let news = Mutex::new(News::new(beat));
        let shared = Arc::new(Shared { news, changed: Condvar::new() });
        let keys = Arc::new(keys);
        let lease = Duration::from_millis(welcome.lease_ms);
        let beat = Duration::from_millis(welcome.beat_ms);
        let own = Arc::clone(&shared);
        thread::Builder::new()
            .name("fleet-news".to_owned())
            .spawn(move || own.tell(&mut client, lease, beat))?;
        let (own, address) = (Arc::clone(&shared), address.to_owned());
        let (target, own_keys) = (address.clone(), Arc::clone(&keys));
        let who = (hello.agent, welcome.token);
        thread::Builder::new()
            .name("fleet-clock".to_owned())
            .spawn(move || own.answer_probes(&target, &own_keys, who, lease))?;
        Ok(Session { shared, address, keys, welcome, agent: hello.agent })
    }

    /// The agent's number.
    pub fn agent(&self) -> u32 {
        self.agent
    }

    /// How many agents there are.
    pub fn agents(&self) -> u32 {
        self.welcome.agents
    }

    /// What is to be done.
    pub fn job(&self) -> &Job {
        &self.welcome.job
    }

    /// Fetches file `number` of the job.
    ///
    /// # Errors
    /// If it does not come, or other bytes than were named.
    pub fn fetch(&self, number: usize) -> Result<Bytes, AgentError> {
        let refused = |error: CallError| AgentError::Refused(error.to_string());
        let mut client = ControlClient::new(&self.address, &self.keys).map_err(refused)?;
        let bytes = client.get(&format!("/v1/files/{number}"), FILE_TIMEOUT).map_err(refused)?;
        let named = self.welcome.job.files.get(number);
        match named.is_some_and(|file| file.sha256 == sha256_of(&bytes)) {
            true => Ok(bytes),
            false => Err(AgentError::Refused(format!("file {number} came damaged"))),
        }
    }

    /// Does `act` when the load has to end early; at once if it has to already.
    pub fn on_ending(&self, act: impl Fn(&Ending) + Send + 'static) {
        let mut news = self.shared.news();
        if let Some(ending) = &news.ending {
            act(ending);
        }
        news.on_ending = Some(Box::new(act));
    }

    /// Does `act` when the rate of the open load is to change.
    pub fn on_rate(&self, act: impl Fn(RateOrder) + Send + 'static) {
        self.shared.news().on_rate = Some(Box::new(act));
    }

    /// Says how far the agent has come.
    pub fn report(&self, state: AgentState) {
        self.shared.change(|news| news.beat.state = news.beat.state.max(state));
    }

    /// Tells the live counters, with what has happened since they were told last.
    pub fn progress(&self, progress: Progress, fresh: &LiveFigures) {
        let mut news = self.shared.news();
        news.beat.progress = progress;
        news.figures.add(fresh);
    }

    /// Says that the load ended before its time, so that it ends for all.
    pub fn report_interrupted(&self) {
        self.shared.change(|news| news.beat.is_interrupted = true);
    }

    /// Says how many workers there are and what is planned, and waits for the place among all.
    ///
    /// # Errors
    /// If the run is called off.
    pub fn place(&self, workers: usize, plan: &str) -> Result<WorkerPlace, AgentError> {
        self.shared.change(|news| {
            news.beat.workers = workers as u32;
            news.beat.plan = Some(plan.to_owned());
            news.beat.state = news.beat.state.max(AgentState::Planned);
        });
        self.shared.await_order(|order| order.place)
    }

    /// Says that all connections are open, and waits for the reading of the stamping clock at
    /// which the run begins.
    ///
    /// # Errors
    /// If the run is called off.
    pub fn start(&self) -> Result<u64, AgentError> {
        self.report(AgentState::Prepared);
        let start = self.shared.await_order(|order| order.start)?;
        self.report(AgentState::Armed);
        Ok(start)
    }

    /// Delivers all files below `dir`.
    ///
    /// # Errors
    /// If a file cannot be read, or the coordinator cannot be reached any more.
    pub fn deliver(&self, dir: &Path) -> Result<(), AgentError> {
        self.report(AgentState::Done);
        let (agent, token) = (self.agent, self.welcome.token);
        let files = deliveries(dir)?;
        let refused = |error: CallError| AgentError::Refused(error.to_string());
        let mut client = ControlClient::new(&self.address, &self.keys).map_err(refused)?;
        let named = Deliveries { agent, token, files };
        let received: Received =
            client.post("/v1/deliver", &named, FILE_TIMEOUT).map_err(refused)?;
        for (number, file) in named.files.iter().enumerate() {
            let has = received.bytes.get(number).copied().unwrap_or(0);
            let target = format!("/v1/deliver/{agent}/{token}/{number}");
            self.send_file(&mut client, (&target, has), &dir.join(&file.path), file.bytes)?;
        }
        self.report(AgentState::Delivered);
        self.shared.await_heard(|(state, _)| state == AgentState::Delivered, CALL_TIMEOUT);
        Ok(())
    }

    /// Puts all files below `dir` into its folder of a bucket, and says where.
    ///
    /// # Errors
    /// If a file cannot be read, the bucket does not take it, or the run is called off meanwhile.
    pub fn put(&self, dir: &Path, (url, patience): (&str, Duration)) -> Result<(), BucketError> {
        self.report(AgentState::Done);
        Bucket::open(url, patience)?.send(dir, &|| self.called_off().is_none())?;
        self.tell_place(url.to_owned());
        Ok(())
    }

    /// Leaves all files below `dir` where they are, and says where.
    pub fn leave(&self, dir: &Path) {
        let place = dir.canonicalize().unwrap_or_else(|_| dir.to_owned());
        self.tell_place(place.to_string_lossy().into_owned());
    }

    fn tell_place(&self, place: String) {
        self.shared.change(|news| {
            news.beat.left = Some(place);
            news.beat.state = AgentState::Delivered;
        });
        self.shared.await_heard(|(state, _)| state == AgentState::Delivered, CALL_TIMEOUT);
    }

    /// Sends a file from byte `has` on; a piece that fails is sent again.
    fn send_file(
        &self,
        client: &mut ControlClient,
        (target, mut has): (&str, u64),
        path: &Path,
        bytes: u64,
    ) -> Result<(), AgentError> {
        let mut file = File::open(path)?;
        let mut attempts = 0;
        // A file without bytes is sent as well: it has to be there.
        let mut is_begun = false;
        while has < bytes || !is_begun {
            self.shared.require_lease()?;
            file.seek(SeekFrom::Start(has))?;
            let mut piece = Vec::new();
            (&mut file).take(PIECE as u64).read_to_end(&mut piece)?;
            let url = format!("{target}/{has}");
            match client.put::<Received>(&url, piece.into(), FILE_TIMEOUT) {
                Ok(received) => {
                    let now_has = received.bytes.first().copied().unwrap_or(0);
                    attempts = if now_has > has { 0 } else { attempts + 1 };
                    (has, is_begun) = (now_has, true);
                }
                Err(CallError::Unreachable(_)) => attempts += 1,
                Err(other) => return Err(AgentError::Refused(other.to_string())),
            }
            if attempts > ATTEMPTS {
                let text = format!("{} does not reach the coordinator", path.display());
                return Err(AgentError::Refused(text));
            }
        }
        Ok(())
    }

    /// Tells the coordinator why this agent has failed, and that everybody has to end.
    pub fn fail(&self, reason: &str) {
        self.shared.change(|news| news.beat.failure = Some(reason.to_owned()));
        self.shared.await_heard(|(_, has_failed)| has_failed, CALL_TIMEOUT);
    }

    /// Why the run was called off, if it was.
    pub fn called_off(&self) -> Option<String> {
        match &self.shared.news().ending {
            Some(Ending::Abort(reason)) => Some(reason.clone()),
            _ => None,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.change(|news| news.is_over = true);
    }
}

impl Shared {
    fn news(&self) -> MutexGuard<'_, News> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut News)) {
        change(&mut self.news());
        self.changed.notify_all();
    }

    /// Tells the news until it is over, and ends the load when the lease has lapsed.
    fn tell(&self, client: &mut ControlClient, lease: Duration, beat_every: Duration) {
        let mut heard = offset::moment();
        loop {
            let beat = {
                let mut news = self.news();
                if news.is_over {
                    return;
                }
                news.next_beat()
            };
            // A process that was stopped for longer than the lease finds it lapsed, even if the
            // coordinator would still answer.
            if offset::since(heard) > lease {
                self.end(Ending::Abort(format!(
                    "no answer of the coordinator for {:.1} s, the lease is {} s: it has ended, \
                     the way to it is cut, or this process was stopped",
                    offset::since(heard).as_secs_f64(),
                    lease.as_secs_f64()
                )));
            }
            let patience = beat_timeout(lease, offset::since(heard));
            match client.post::<Beat, Directive>("/v1/beat", &beat, patience) {
                Ok(order) if offset::since(heard) <= lease => {
                    heard = offset::moment();
                    self.take(order, &beat);
                }
                Ok(_) => {}
                Err(CallError::Unreachable(_)) => {}
                Err(other) => self.end(Ending::Abort(other.to_string())),
            }
            let news = self.news();
            let is_told =
                |news: &mut News| !news.is_over && !news.is_called && news.beat.is_as(&beat);
            let pause = if beat.state == AgentState::Running { beat_every } else { BEAT_EVERY };
            let rest = self.changed.wait_timeout_while(news, pause, is_told);
            drop(rest.unwrap_or_else(PoisonError::into_inner));
        }
    }

    fn take(&self, order: Directive, told: &Beat) {
        let ending = match order.command {
            Command::Continue => None,
            Command::Stop => Some(Ending::Stop),
            Command::Abort => Some(Ending::Abort(order.reason.clone())),
        };
        self.change(|news| {
            news.heard = Some((told.state, told.failure.is_some()));
            news.is_counted = true;
            if told.plan.is_some() {
                news.beat.plan = None;
            }
            news.take_rates(&order.rates);
            news.order = Some(order);
        });
        if let Some(ending) = ending {
            self.end(ending);
        }
    }

    /// The load ends; an abort takes precedence over a stop.
    fn end(&self, ending: Ending) {
        let mut news = self.news();
        let is_news = match (&news.ending, &ending) {
            (None, _) => true,
            (Some(Ending::Stop), Ending::Abort(_)) => true,
            (Some(_), _) => false,
        };
        if is_news {
            if let Some(act) = &news.on_ending {
                act(&ending);
            }
            news.ending = Some(ending);
        }
        drop(news);
        self.changed.notify_all();
    }

    fn require_lease(&self) -> Result<(), AgentError> {
        match &self.news().ending {
            Some(Ending::Abort(reason)) => Err(AgentError::CalledOff(reason.clone())),
            _ => Ok(()),
        }
    }

    fn await_order<T>(&self, wanted: impl Fn(&Directive) -> Option<T>) -> Result<T, AgentError> {
        let mut news = self.news();
        loop {
            if let Some(Ending::Abort(reason)) = &news.ending {
                return Err(AgentError::CalledOff(reason.clone()));
            }
            if let Some(found) = news.order.as_ref().and_then(&wanted) {
                return Ok(found);
            }
            news = self.changed.wait(news).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Waits until the coordinator has heard what `is_it` wants, or is lost, or too long.
    fn await_heard(&self, is_it: impl Fn((AgentState, bool)) -> bool, limit: Duration) {
        let is_missing = |news: &mut News| {
            !news.heard.is_some_and(&is_it) && !matches!(news.ending, Some(Ending::Abort(_)))
        };
        let waited = self.changed.wait_timeout_while(self.news(), limit, is_missing);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Answers probes of this process's clock until it is over.
    fn answer_probes(&self, address: &str, keys: &FleetKeys, who: (u32, u64), lease: Duration) {
        while !self.news().is_over {
            // Without probes there is no start, and the coordinator says so; a connection that
            // ended is made again.
            let on_call = || self.change(|news| news.is_called = true);
            let _ = probe_connection(address, keys, who, lease, on_call);
            thread::sleep(BEAT_EVERY);
        }
    }
}

fn probe_connection(
    address: &str,
    keys: &FleetKeys,
    (agent, token): (u32, u64),
    lease: Duration,
    on_call: impl Fn(),
) -> std::io::Result<()> {
    let invalid = |text: String| std::io::Error::other(text);
    let tls = keys.client(ALPN_PROBE).map_err(invalid)?;
    let place = address.to_socket_addrs()?.next();
    let place = place.ok_or_else(|| invalid(format!("{address} is no address")))?;
    let stream = TcpStream::connect_timeout(&place, CALL_TIMEOUT)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(lease))?;
    stream.set_write_timeout(Some(lease))?;
    let name = ServerName::try_from(COORDINATOR).map_err(|error| invalid(error.to_string()))?;
    let session = rustls::ClientConnection::new(tls, name).map_err(|e| invalid(e.to_string()))?;
    let mut connection = rustls::StreamOwned::new(session, stream);
    let mut frame = [0; FRAME];
    frame[..8].copy_from_slice(&u64::from(agent).to_le_bytes());
    frame[8..16].copy_from_slice(&token.to_le_bytes());
    std::io::Write::write_all(&mut connection, &frame)?;
    std::io::Write::flush(&mut connection)?;
    offset::answer(&mut connection, &StampClock::default(), on_call)
}

/// How long the answer to news is waited for by one who has heard nothing for `silent`: at most
/// until the lease lapses, so that the load ends then.
fn beat_timeout(lease: Duration, silent: Duration) -> Duration {
    let usual = (lease / 2).min(CALL_TIMEOUT);
    match lease.checked_sub(silent) {
        Some(left) => usual.min(left + LAPSED_BY),
        None => usual,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_waited_for_no_longer_than_the_lease() {
        let lease = Duration::from_secs(5);
        let after = |silent_ms| beat_timeout(lease, Duration::from_millis(silent_ms)).as_millis();
        assert_eq!([after(0), after(2_500), after(2_501)], [2_500, 2_500, 2_500]);
        assert_eq!([after(4_900), after(5_000)], [101, 1]);
        assert_eq!(after(5_001), 2_500, "it has lapsed: what is left to tell is told as usual");
        assert_eq!(beat_timeout(lease * 10, Duration::ZERO), CALL_TIMEOUT);
    }
}
