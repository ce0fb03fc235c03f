//! Load configuration from settings: load model, length, workers.

use anyhow::Result;
use assay_analysis::DEADLINE;
use assay_model::Nanos;
use assay_run::{
    ArrivalProcess, Arrivals, Closed, Extent, Load, Open, Overflow, RateProfile, Spin, Think,
};
use assay_store::Calls;

use crate::arrivals::Calendar;
use crate::exit::usage;
use crate::options::{Options, SettingText, TypedSetting, When};
use crate::{arrivals, machine};

/// The default number of sessions that load a store over a network.
const LOAD_SESSIONS: u32 = 16;

/// More workers than this are a mistake on any known machine.
const WORKERS_MAX: u64 = 1024;

/// More sessions or processes in flight than this do not fit into a worker's tickets.
const IN_FLIGHT_MAX: u64 = 1 << 22;

/// More blocking threads per worker than this do not help any store.
const BLOCKING_THREADS_MAX: u64 = 256;

/// The default duration of a workload that has no length of its own.
pub const USUAL_DURATION: Nanos = Nanos::from_secs(10);

/// The load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Filling a store.
    Load,
    /// The run of a bench, which has a default duration of its own.
    Bench,
    /// A run.
    Run,
}

/// The load on a store.
#[derive(Clone, Debug)]
pub struct LoadConfig {
    /// The load model.
    pub load: Load,
    /// The run's length.
    pub extent: Extent,
    /// Timeout of an operation.
    pub timeout: Nanos,
    /// Worker threads.
    pub workers: usize,
    /// Whether they burn processor time to be punctual.
    pub spin: Spin,
    /// The processors that they are held to, in turn; none leaves them to the system.
    pub processors: Vec<usize>,
    /// Blocking threads per worker around a blocking store; 0 calls it on the worker itself.
    pub blocking_threads: usize,
    /// The most requests that the client of a worker has in flight, if the store bounds that.
    pub room: Option<usize>,
    /// A response that comes later than this is late.
    pub deadline: Nanos,
}

impl LoadConfig {
    /// The most processes that are issued if `planned` are planned: an extent in transactions may
    /// say more.
    pub fn processes(&self, planned: Option<u64>) -> Option<u64> {
        [self.extent.processes, planned].into_iter().flatten().min()
    }

    /// Reads the settings for `purpose` with a store whose client works as `calls` says.
    ///
    /// `planned` is the number of processes in the spec, `calendar` who may
    /// bring a schedule of its own.
    pub fn from(
        options: &Options,
        purpose: Purpose,
        calls: Calls,
        planned: Option<u64>,
        calendar: Calendar<'_>,
    ) -> Result<LoadConfig> {
        let load = load_model(options, purpose, calls, calendar)?;
        let workers = workers(options, &load, calls)?;
        let timeout = options.timeout.get().unwrap_or(Nanos::from_secs(10));
        if timeout == Nanos::ZERO {
            return Err(options.timeout.wrong("every operation would time out; give more than 0s"));
        }
        let deadline = options.deadline.get().unwrap_or(DEADLINE);
        if deadline == Nanos::ZERO {
            return Err(options.deadline.wrong("every response would be late; give more than 0s"));
        }
        Ok(LoadConfig {
            room: None,
            deadline,
            extent: extent(options, purpose, planned, &load, calendar)?,
            timeout,
            workers,
            spin: spin(options, workers),
            processors: options.cpu_list.value().cloned().unwrap_or_default(),
            blocking_threads: blocking_threads(options, &load, workers, calls)?,
            load,
        })
    }

    /// The most requests of arrivals that are in flight at once: as many as the load model allows,
    /// or as the clients of all workers take.
    pub fn in_flight(&self, open: &Open) -> usize {
        let room = self.room.map_or(usize::MAX, |room| room.saturating_mul(self.workers));
        open.in_flight.min(room)
    }

    /// The load model alone in words: what does not depend on the machine.
    pub fn load_text(&self) -> String {
        match &self.load {
            Load::Open(open) => format!(
                "{}, at most {} in flight, then {}",
                describe_arrivals(&open.arrivals, &self.extent),
                open.in_flight,
                open.overflow.name()
            ),
            Load::Closed(closed) => format!(
                "{} sessions, think time {:?}, target {:?}",
                closed.sessions, closed.think, closed.target_rate
            ),
        }
    }

    /// The load model in words.
    pub fn describe(&self) -> String {
        let mut text = match &self.load {
            Load::Open(open) => {
                let bound = self.in_flight(open);
                let allowed = match bound < open.in_flight {
                    true => format!(" (what its connections take; --in-flight {})", open.in_flight),
                    false => String::new(),
                };
                format!(
                    "{}, at most {bound} in flight{allowed}, then {}",
                    describe_arrivals(&open.arrivals, &self.extent),
                    open.overflow.name()
                )
            }
            Load::Closed(closed) => {
                let think = match closed.think {
                    Think::No => "no think time".to_owned(),
                    Think::Constant(time) => format!("think time {time}"),
                    Think::Exponential(mean) => format!("exponential think time, mean {mean}"),
                };
                match closed.target_rate {
                    Some(target_rate) => format!("{think}, paced at {target_rate}/s"),
                    None => think,
                }
            }
        };
        text += &format!("; timeout {}", self.timeout);
        if self.blocking_threads > 0 {
            text += &format!("; {} blocking threads per worker", self.blocking_threads);
        }
        text
    }
}

/// Arrivals in words, with mean and coefficient of variation of their gaps.
fn describe_arrivals(arrivals: &Arrivals, extent: &Extent) -> String {
    let Arrivals { rate_profile, process } = arrivals;
    let planned = planned_rate(rate_profile, extent);
    let mut text = match rate_profile.constant_rate() {
        Some(rate) => format!("{process} arrivals at {}/s", rounded(rate)),
        None => format!("{process} arrivals at {rate_profile}"),
    };
    let cv = process.cv(planned).map(|cv| format!(", cv {}", rounded(cv))).unwrap_or_default();
    if planned > 0.0 {
        // Where the rate runs over time, its mean over the run stands for it.
        let about = if rate_profile.constant_rate().is_some() { "" } else { " over the run" };
        let gap = Nanos((1e9 / planned + 0.5) as u64);
        text += &format!(" (gaps: mean {gap}{about}{cv})");
    }
    text
}

/// Arrivals per second that a shape plans over a run, as far as the length of that is known.
fn planned_rate(rate_profile: &RateProfile, extent: &Extent) -> f64 {
    let end = match (extent.end(), extent.processes) {
        (Nanos::NEVER, Some(processes)) => rate_profile.moment(processes as f64),
        (end, _) => end,
    };
    rate_profile.mean_rate(extent.warm_up, end)
}

/// A number with at most three digits after the point.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

fn load_model(
    options: &Options,
    purpose: Purpose,
    calls: Calls,
    calendar: Calendar<'_>,
) -> Result<Load> {
    let measures = purpose != Purpose::Load;
    let is_replay = measures && is_replay(options, calendar);
    let has_rate = measures && (is_replay || options.rate.text().is_some());
    let closed = options.closed.get();
    match (has_rate, closed) {
        (true, Some(_)) => Err(usage(
            "--rate is an open loop and --closed a closed loop: give one of them \
             (--target-throughput is for a closed loop with a target)",
        )),
        (true, None) => open(options, calendar),
        (false, _) if measures && options.speed.is_given() => {
            let reason = match calendar {
                Calendar::Trace(_) if closed.is_none() => {
                    "the trace has no schedule to be replayed faster"
                }
                _ => "only a trace's own schedule can be replayed faster",
            };
            Err(options.speed.wrong(reason))
        }
        (false, sessions) => closed_model(options, purpose, calls, sessions),
    }
}

/// Whether a trace's own schedule is used: by option, or by default.
fn is_replay(options: &Options, calendar: Calendar<'_>) -> bool {
    let has_schedule = calendar.has_schedule();
    match options.arrivals.given() {
        Some(text) => text.trim() == "trace",
        None => has_schedule && options.rate.text().is_none() && options.closed.text().is_none(),
    }
}

fn open(options: &Options, calendar: Calendar<'_>) -> Result<Load> {
    let of_closed: [&SettingText; 2] = [&options.think, &options.target_throughput];
    if let Some(setting) = of_closed.into_iter().find(|setting| setting.is_given()) {
        return Err(setting.wrong("only sessions of a closed loop do that"));
    }
    let arrivals = open_arrivals(options, calendar)?;
    let in_flight = bounded(&options.in_flight, IN_FLIGHT_MAX)?.unwrap_or(4096) as usize;
    let overflow = options.overflow.get().unwrap_or(Overflow::Queue);
    Ok(Load::Open(Open { arrivals, in_flight, overflow }))
}

/// The arrival process and the rate; a trace's own schedule brings its rate with it.
fn open_arrivals(options: &Options, calendar: Calendar<'_>) -> Result<Arrivals> {
    let text = match is_replay(options, calendar) {
        true => "trace",
        false => options.arrivals.text().unwrap_or("poisson"),
    };
    let process =
        arrivals::process(text, calendar).map_err(|error| options.arrivals.wrong(error))?;
    let speed = options.speed.get().map(|speed| speed.0);
    let rate_profile = match (&process, options.rate.value().cloned(), speed) {
        (_, Some(_), Some(_)) => {
            return Err(options.speed.wrong("--rate says already how fast: give one of them"));
        }
        (ArrivalProcess::Recorded(timetable), None, speed) => {
            RateProfile::constant(timetable.rate() * speed.unwrap_or(1.0))
        }
        (_, None, _) => return Err(usage("how many arrivals? give --rate, such as --rate 20k/s")),
        (_, Some(rate_profile), None) => rate_profile,
    };
    Ok(Arrivals { rate_profile, process })
}

fn closed_model(
    options: &Options,
    purpose: Purpose,
    calls: Calls,
    sessions: Option<u64>,
) -> Result<Load> {
    bounded(&options.closed, IN_FLIGHT_MAX)?;
    let of_open: [&SettingText; 3] = [&options.arrivals, &options.in_flight, &options.overflow];
    if let Some(setting) = of_open.into_iter().find(|setting| setting.is_typed())
        && purpose != Purpose::Load
    {
        return Err(setting.wrong("only an open loop does that; give --rate as well"));
    }
    let usual = usual_sessions(purpose, calls, machine::cores() as u32);
    let sessions = sessions.map_or(usual, |sessions| sessions as u32);
    let measures = purpose != Purpose::Load;
    let think = options.think.get().filter(|_| measures).unwrap_or(Think::No);
    let target_rate = options.target_throughput.get().filter(|_| measures).map(|rate| rate.0);
    Ok(Load::Closed(Closed { sessions, think, target_rate }))
}

/// The default number of sessions of a closed loop, on a machine of `cores` processors.
fn usual_sessions(purpose: Purpose, calls: Calls, cores: u32) -> u32 {
    match (purpose, calls) {
        (Purpose::Run, _) => 1,
        (Purpose::Load, Calls::Pipelined) => LOAD_SESSIONS,
        // The store's own threads run on the same processors: one is left to them.
        (_, Calls::Blocking) => cores.saturating_sub(1).max(1),
        _ => cores,
    }
}

/// A whole number from 1 to `most`.
fn bounded(setting: &TypedSetting<u64>, most: u64) -> Result<Option<u64>> {
    match setting.get() {
        Some(0) => Err(setting.wrong("nothing can be issued with none; give at least 1")),
        Some(many) if many > most => {
            Err(setting.wrong(format!("{many} is more than the {most} that are possible")))
        }
        other => Ok(other),
    }
}

fn extent(
    options: &Options,
    purpose: Purpose,
    planned: Option<u64>,
    load: &Load,
    calendar: Calendar<'_>,
) -> Result<Extent> {
    if purpose == Purpose::Load {
        return Ok(Extent { processes: planned, ..Extent::default() });
    }
    let given = options.operations.get();
    let duration = options.duration.get();
    if duration == Some(Nanos::ZERO) {
        return Err(options.duration.wrong("nothing would be issued; give more than 0s"));
    }
    let usual = if is_replay(options, calendar) { calendar.warm_up() } else { Nanos::ZERO };
    let warm_up = options.warm_up.get().unwrap_or(usual);
    let (processes, duration) = match (given, duration, purpose) {
        (None, None, _) if stages_end(load).is_some() => (planned, stages(options, load, warm_up)?),
        (None, None, Purpose::Bench) if matches!(calendar, Calendar::None) => {
            (None, Some(USUAL_DURATION))
        }
        (None, None, _) => (planned, None),
        (given, duration, _) => (given, duration),
    };
    if let (Load::Open(open), None) = (load, duration)
        && open.arrivals.rate_profile.is_silent_from(Nanos::NEVER)
    {
        let reason = "nothing arrives after its end, so the run may never end; give --duration";
        return Err(options.rate.wrong(reason));
    }
    if processes.is_none() && duration.is_none() {
        return Err(usage("the spec does not say how long: give --duration or --operations"));
    }
    Ok(Extent { processes, duration, warm_up })
}

/// When the last stage of the rate ends, if it has stages.
fn stages_end(load: &Load) -> Option<Nanos> {
    match load {
        Load::Open(open) => open.arrivals.rate_profile.end(),
        Load::Closed(_) => None,
    }
}

/// How long to measure if the stages say it.
fn stages(options: &Options, load: &Load, warm_up: Nanos) -> Result<Option<Nanos>> {
    match stages_end(load) {
        Some(end) if end <= warm_up => Err(options.warm_up.wrong(format!(
            "the stages of the rate end after {end}, so nothing would be measured"
        ))),
        end => Ok(end.map(|end| end.since(warm_up))),
    }
}

fn workers(options: &Options, load: &Load, calls: Calls) -> Result<usize> {
    let usual = usual_workers(load, calls);
    let workers = bounded(&options.threads, WORKERS_MAX)?.map_or(usual, |workers| workers as usize);
    Ok(workers.min(places(load)))
}

/// How many processes a load model has in flight at most.
fn places(load: &Load) -> usize {
    match load {
        Load::Open(open) => open.in_flight,
        Load::Closed(closed) => closed.sessions as usize,
    }
}

/// The default number of workers.
pub fn usual_workers(load: &Load, calls: Calls) -> usize {
    let usual = match (load, calls) {
        // A store that blocks its caller needs a thread per session to have them all at once.
        (Load::Closed(_), Calls::Blocking) => 64,
        _ => (machine::cores() / 2).max(1),
    };
    usual.min(places(load))
}

/// The default number of blocking threads per worker.
pub fn usual_blocking_threads(load: &Load, workers: usize, calls: Calls) -> usize {
    match load {
        Load::Closed(closed) if calls == Calls::Blocking && closed.sessions as usize > workers => {
            (closed.sessions as usize).div_ceil(workers)
        }
        Load::Open(_) if calls == Calls::Blocking => 8,
        _ => 0,
    }
}

fn spin(options: &Options, workers: usize) -> Spin {
    match options.spin.get() {
        Some(When::Always) => Spin::Always,
        Some(When::Never) => Spin::Never,
        Some(When::Auto) | None if workers < machine::cores() => Spin::LastStretch,
        Some(When::Auto) | None => Spin::Never,
    }
}

fn blocking_threads(options: &Options, load: &Load, workers: usize, calls: Calls) -> Result<usize> {
    let usual = usual_blocking_threads(load, workers, calls);
    match (options.blocking_threads.get(), load) {
        (Some(many), _) if many > BLOCKING_THREADS_MAX => Err(options
            .blocking_threads
            .wrong(format!("more than {BLOCKING_THREADS_MAX} per worker are too many"))),
        (Some(given), Load::Open(_)) if calls == Calls::Blocking => Ok(given as usize),
        _ => Ok(usual),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_on_an_embedded_store_leave_it_a_processor() {
        let sessions = |cores| usual_sessions(Purpose::Bench, Calls::Blocking, cores);
        assert_eq!([1, 2, 8].map(sessions), [1, 1, 7]);
        assert_eq!(usual_sessions(Purpose::Load, Calls::Blocking, 2), 1);
        assert_eq!(usual_sessions(Purpose::Bench, Calls::Pipelined, 2), 2);
        assert_eq!(usual_sessions(Purpose::Load, Calls::Pipelined, 2), 16);
        assert_eq!(usual_sessions(Purpose::Run, Calls::Blocking, 8), 1);
    }
}
