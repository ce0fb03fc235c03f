//! Final reads: when a run is over and its store is at rest, each record is read once more.
//!
//! They belong to the same history, on the same clock, in a phase of their own: what an
//! acknowledged write has written and none of them shows is lost. No figure contains them.

use std::ops::Range;
use std::sync::Arc;

use assay_history::manifest::UsedSection;
use assay_model::{
    Arguments, Fields, Filled, Kind, Nanos, ObservedValue, Operation, Outcome, Phase, Record,
    Source, SourceError,
};
use assay_report::units::count;
use assay_run::control::Urgency;
use assay_run::executor::execute_alone;
use assay_run::{Clock, Closed, Control, Extent, Load, SimulatedClock, Sink, Think, Workers};
use assay_store::Store;
use assay_workload::script::{ScriptSpec, final_reads};

/// Records that are read at most; of more, a part.
const KEYS_MAX: u64 = 1_000_000;
/// How long after the run the store may take until it responds.
const RESPONSE_TIMEOUT: Nanos = Nanos::from_secs(30);
/// How long final reads may take.
const LENGTH_MAX: Nanos = Nanos::from_secs(60);
/// The store responds when reads of this many records, far apart, are all answered.
const PROBES: u64 = 8;
/// How long one of those is waited for, and how long after it has failed the next one comes.
const PROBE_TIMEOUT: Nanos = Nanos::from_secs(2);
const PROBE_EVERY: Nanos = Nanos::from_millis(100);
/// Sessions that read, each one record after the other.
const SESSIONS: u32 = 16;

/// What is read when a run is over.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalReads {
    /// How long the store is left alone after it has responded.
    pub wait: Nanos,
    /// The records that were there when the run began.
    pub loaded: Range<u64>,
    /// The first record that the run may insert.
    pub inserts_from: u64,
    /// The workload of queries whose records these are, if it is one: it has queries of its own
    /// that read them.
    pub queries: Option<ScriptSpec>,
}

/// What came of final reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalReadsOutcome {
    /// When they began and when the last one had ended; none if there are none.
    pub window: Option<(Nanos, Nanos)>,
    /// How many there are.
    pub records: u64,
    /// What a reader of the verdicts must know, a sentence each.
    pub notes: Vec<String>,
}

impl FinalReadsOutcome {
    /// There are none, for this reason.
    pub fn none(reason: &str) -> FinalReadsOutcome {
        let note = format!("no final reads: {reason}; lost writes cannot be judged");
        FinalReadsOutcome { notes: vec![note], ..FinalReadsOutcome::default() }
    }
}

/// The numbers that the records of a run have used up, from 0 to before these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsedNumbers {
    index: u64,
    process: u64,
    session: u32,
    /// Behind the last record that was inserted.
    inserted: u64,
}

impl UsedNumbers {
    /// As an agent tells them; sessions have numbers of their own at each agent.
    pub fn section(&self) -> UsedSection {
        UsedSection { indexes: self.index, processes: self.process, inserted: self.inserted }
    }

    /// As agents have told them.
    pub fn told(section: UsedSection) -> UsedNumbers {
        let UsedSection { indexes, processes, inserted } = section;
        UsedNumbers { index: indexes, process: processes, session: 0, inserted }
    }

    /// Those of `record` are used.
    #[inline]
    pub fn add(&mut self, record: &Record) {
        self.index = self.index.max(record.index + 1);
        self.process = self.process.max(record.process + 1);
        self.session = self.session.max(record.session.saturating_add(1));
        if record.kind == Kind::Insert {
            self.inserted = self.inserted.max(record.key + 1);
        }
    }

    /// Those of either.
    #[must_use]
    pub fn and(self, other: UsedNumbers) -> UsedNumbers {
        UsedNumbers {
            index: self.index.max(other.index),
            process: self.process.max(other.process),
            session: self.session.max(other.session),
            inserted: self.inserted.max(other.inserted),
        }
    }
}

/// The store as the run before has had it.
pub struct FinalContext<'a> {
    /// How it was called.
    pub run: Workers<'a>,
    /// The store, every action on which has ended.
    pub store: &'a dyn Store,
    /// What ended the run, or may end this.
    pub control: &'a Control,
    /// What the run has used up.
    pub used: UsedNumbers,
}

impl FinalReads {
    /// Waits until the store responds, lets it rest, and reads; the records go to `sink`.
    ///
    /// No read is repeated: of a record whose read is not answered nobody says what it has lost.
    pub fn perform<S: Sink>(&self, context: &FinalContext<'_>, sink: S) -> FinalReadsOutcome {
        match context.control.clock() {
            Some(clock) => {
                let pause = |length| {
                    let end = clock.now() + length;
                    clock.sleep_until(end);
                };
                self.perform_with(context, clock.clone(), &pause, sink)
            }
            None => {
                let clock = SimulatedClock::new();
                clock.pass(context.control.now().unwrap_or_default());
                self.perform_with(context, clock.clone(), &|length| clock.pass(length), sink)
            }
        }
    }

    fn perform_with<C: Clock + Clone, S: Sink>(
        &self,
        context: &FinalContext<'_>,
        clock: C,
        pause: &dyn Fn(Nanos),
        sink: S,
    ) -> FinalReadsOutcome {
        let reader = Reader { context, clock, queries: self.queries.as_ref() };
        if let Err(reason) = self.await_rest(&reader, pause) {
            return FinalReadsOutcome::none(&reason);
        }
        let places = ReadPlace::all(context.store);
        let keys = self.keys(context.used, KEYS_MAX / places.len() as u64);
        let from = reader.clock.now();
        let mut sink = FinalSink::new(context, sink);
        let until = from.saturating_add(LENGTH_MAX);
        let mut notes = Vec::new();
        for place in &places {
            sink.begin();
            let store = place.store.as_deref().unwrap_or(context.store);
            let error = reader.read(store, &keys, context.run.timeout, until, &mut sink).err();
            notes.extend(error.map(|error| format!("{error}{}", place.name)));
            notes.extend(sink.remarks(&keys, &place.name));
        }
        let records = sink.records;
        let window = (records > 0).then(|| (from, reader.clock.now()));
        FinalReadsOutcome { window, records, notes }
    }

    /// Waits until the store responds, and as long as it is to be left alone.
    fn await_rest<C: Clock + Clone>(
        &self,
        reader: &Reader<'_, '_, C>,
        pause: &dyn Fn(Nanos),
    ) -> Result<(), String> {
        let is_stopped = || reader.context.control.urgency() > Urgency::None;
        let begun = reader.clock.now();
        while !is_stopped() && !reader.responds(&self.keys(reader.context.used, PROBES)) {
            if reader.clock.now().since(begun) >= RESPONSE_TIMEOUT {
                return Err(format!(
                    "the store did not respond within {RESPONSE_TIMEOUT} after the run"
                ));
            }
            pause(PROBE_EVERY);
        }
        let end = reader.clock.now().saturating_add(self.wait);
        while !is_stopped() && reader.clock.now() < end {
            pause(end.since(reader.clock.now()).min(PROBE_EVERY));
        }
        if is_stopped() { Err("stopped while waiting for them".to_owned()) } else { Ok(()) }
    }

    /// At most `most` of the records that are there, or should be; of the inserted ones half at
    /// most where there are too many.
    fn keys(&self, used: UsedNumbers, most: u64) -> Keys {
        let inserted = self.inserts_from..used.inserted.max(self.inserts_from);
        let len = |range: &Range<u64>| range.end.saturating_sub(range.start);
        let of_loaded = len(&self.loaded).min(most - len(&inserted).min(most / 2));
        let of_inserted = len(&inserted).min(most - of_loaded);
        Keys { loaded: self.loaded.clone(), of_loaded, inserted, of_inserted }
    }
}

/// A place that final reads go to.
struct ReadPlace {
    /// The store with one node chosen; none as it is.
    store: Option<Box<dyn Store>>,
    /// The node, as an end of a sentence; empty if none was chosen.
    name: String,
}

impl ReadPlace {
    /// Each node of `store` that reads can be sent to, or where nobody can choose, the store.
    fn all(store: &dyn Store) -> Vec<ReadPlace> {
        let names = store.nodes();
        let numbered = names.iter().zip(1..=u8::MAX);
        let places = numbered.filter_map(|(name, number)| {
            Some(ReadPlace { store: Some(store.reading_at(number)?), name: format!(" at {name}") })
        });
        let places: Vec<ReadPlace> = places.collect();
        let anywhere = ReadPlace { store: None, name: String::new() };
        if places.is_empty() { vec![anywhere] } else { places }
    }
}

/// Records, evenly spread over those that were loaded and those that were inserted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Keys {
    loaded: Range<u64>,
    of_loaded: u64,
    inserted: Range<u64>,
    of_inserted: u64,
}

impl Keys {
    fn len(&self) -> u64 {
        self.of_loaded + self.of_inserted
    }

    /// How many records they are taken from.
    fn all(&self) -> u64 {
        let len = |range: &Range<u64>| range.end.saturating_sub(range.start);
        len(&self.loaded) + len(&self.inserted)
    }

    fn get(&self, place: u64) -> Option<u64> {
        let spread = |range: &Range<u64>, place: u64, of: u64| {
            let len = u128::from(range.end - range.start);
            range.start + (u128::from(place) * len / u128::from(of)) as u64
        };
        match place.checked_sub(self.of_loaded) {
            None => Some(spread(&self.loaded, place, self.of_loaded)),
            Some(place) if place < self.of_inserted => {
                Some(spread(&self.inserted, place, self.of_inserted))
            }
            Some(_) => None,
        }
    }
}

impl Source for Keys {
    fn len(&self) -> Option<u64> {
        Some(Keys::len(self))
    }

    fn width(&self) -> u64 {
        1
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        let Some(key) = self.get(process) else { return Ok(Filled::End) };
        into.push(Operation {
            index: process,
            key,
            kind: Kind::Read,
            fields: Fields::All,
            limit: 1,
            bytes: 0,
            statement: 0,
            transaction: 0,
            transaction_type: 0,
            ends_transaction: true,
            think: Nanos::ZERO,
        });
        Ok(Filled::Process)
    }
}

/// The queries that read some of the records, one process for each.
struct KeyQueries {
    keys: Keys,
    /// A process for each record, numbered as it.
    reads: Box<dyn Source>,
}

impl Source for KeyQueries {
    fn len(&self) -> Option<u64> {
        Some(self.keys.len())
    }

    fn width(&self) -> u64 {
        self.reads.width()
    }

    fn fill(&mut self, process: u64, into: &mut Vec<Operation>) -> Result<Filled, SourceError> {
        into.clear();
        match self.keys.get(process) {
            Some(key) => self.reads.fill(key, into),
            None => Ok(Filled::End),
        }
    }

    fn arguments(&mut self, into: &mut Arguments) {
        self.reads.arguments(into);
    }
}

/// Reads records with clients of its own.
struct Reader<'a, 'c, C> {
    context: &'a FinalContext<'c>,
    clock: C,
    queries: Option<&'a ScriptSpec>,
}

impl<C: Clock + Clone> Reader<'_, '_, C> {
    /// Reads each of `keys` in `store` once, as far as that can be begun before `until`.
    fn read<S: Sink>(
        &self,
        store: &dyn Store,
        keys: &Keys,
        timeout: Nanos,
        until: Nanos,
        sink: S,
    ) -> Result<S, String> {
        let spec = self.queries;
        let queries = |spec| {
            let reads = final_reads(spec)?;
            Some(Box::new(KeyQueries { keys: keys.clone(), reads }) as Box<dyn Source>)
        };
        let source = || spec.and_then(queries).unwrap_or_else(|| Box::new(keys.clone()));
        let load = Load::Closed(Closed { sessions: SESSIONS, think: Think::No, target_rate: None });
        let extent =
            Extent { processes: Some(keys.len()), duration: Some(until), ..Extent::default() };
        let before = &self.context.run;
        let run = Workers {
            workers: 1,
            source: &source,
            encoder: Arc::clone(&before.encoder),
            fields: Arc::clone(&before.fields),
            workload_kind: before.workload_kind,
            roles: Arc::clone(&before.roles),
            load,
            extent,
            timeout,
            seed: before.seed,
            is_load: false,
            stop_at_failure: false,
            spin: before.spin,
            processors: &[],
            share: None,
            start: None,
        };
        // The run's own control would forget the changes of its rate.
        let control = Control::new();
        let sink = Relay { sink, outside: self.context.control, own: &control };
        let read = execute_alone(&run, store, self.clock.clone(), sink, &control);
        let (_, relay) = read.map_err(|error| format!("final reads: {error}"))?;
        Ok(relay.sink)
    }

    /// Whether each of `keys` is answered.
    fn responds(&self, keys: &Keys) -> bool {
        let timeout = self.context.run.timeout.min(PROBE_TIMEOUT);
        let until = self.clock.now().saturating_add(PROBE_TIMEOUT);
        let records = self.read(self.context.store, keys, timeout, until, Vec::new());
        let records = records.unwrap_or_default();
        let answered = records.iter().filter(|record: &&Record| record.outcome == Outcome::Done);
        answered.count() as u64 == keys.len()
    }
}

/// Passes on what ends a run from outside.
struct Relay<'a, S> {
    sink: S,
    outside: &'a Control,
    own: &'a Control,
}

impl<S: Sink> Sink for Relay<'_, S> {
    fn push(&mut self, record: Record) {
        self.sink.push(record);
    }

    fn observe(&mut self, value: ObservedValue) {
        self.sink.observe(value);
    }

    /// Called twice a second at least.
    fn flush(&mut self) {
        match self.outside.urgency() {
            Urgency::None => {}
            Urgency::Drain => self.own.drain(),
            Urgency::Abort => self.own.abort(),
        }
        self.sink.flush();
    }

    fn is_broken(&self) -> bool {
        self.sink.is_broken()
    }

    fn stalls(&self) -> u64 {
        self.sink.stalls()
    }
}

/// Gives records the phase of final reads, and numbers that the run has not used.
struct FinalSink<S> {
    sink: S,
    used: UsedNumbers,
    /// The numbers that were used with the records until now.
    next: UsedNumbers,
    records: u64,
    /// Since the last beginning.
    begun: u64,
    unanswered: u64,
}

impl<S: Sink> FinalSink<S> {
    fn new(context: &FinalContext<'_>, sink: S) -> FinalSink<S> {
        let used = context.used;
        FinalSink { sink, used, next: used, records: 0, begun: 0, unanswered: 0 }
    }

    /// Reads from another place follow, with numbers of their own.
    fn begin(&mut self) {
        self.used = self.next;
        (self.begun, self.unanswered) = (0, 0);
    }

    /// What reads since the last beginning do not tell of `keys`.
    fn remarks(&self, keys: &Keys, at: &str) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.begun < keys.all() {
            let (read, all) = (count(self.begun), count(keys.all()));
            remarks.push(format!(
                "final reads{at} are of {read} of {all} records: what the others have lost is not \
                 known"
            ));
        }
        if self.unanswered > 0 {
            remarks.push(format!(
                "{} final reads{at} were not answered: what those records have lost is not known",
                count(self.unanswered)
            ));
        }
        remarks
    }
}

impl<S: Sink> Sink for &mut FinalSink<S> {
    fn push(&mut self, record: Record) {
        // Nobody intended what was never sent.
        if record.outcome == Outcome::Dropped {
            return;
        }
        self.records += 1;
        self.begun += 1;
        self.unanswered += u64::from(record.outcome != Outcome::Done);
        let record = Record {
            index: self.used.index + record.index,
            process: self.used.process + record.process,
            session: self.used.session.wrapping_add(record.session),
            // No load model decides when they are due.
            intended: record.started,
            phase: Phase::Final,
            ..record
        };
        self.next.add(&record);
        self.sink.push(record);
    }

    fn observe(&mut self, value: ObservedValue) {
        self.sink.observe(ObservedValue { index: self.used.index + value.index, ..value });
    }

    fn flush(&mut self) {
        self.sink.flush();
    }

    fn is_broken(&self) -> bool {
        self.sink.is_broken()
    }

    fn stalls(&self) -> u64 {
        self.sink.stalls()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const READS: FinalReads =
        FinalReads { wait: Nanos::from_secs(2), loaded: 10..60, inserts_from: 100, queries: None };

    fn all(keys: &Keys) -> Vec<u64> {
        (0..).map_while(|place| keys.get(place)).collect()
    }

    #[test]
    fn each_record_that_was_loaded_or_inserted_is_read_once() {
        let mut used = UsedNumbers::default();
        used.add(&Record { kind: Kind::Update, key: 500, ..Record::BLANK });
        used.add(&Record { kind: Kind::Insert, key: 102, ..Record::BLANK });
        let expected: Vec<u64> = (10..60).chain(100..103).collect();
        assert_eq!(all(&READS.keys(used, 1000)), expected);
        assert_eq!(all(&READS.keys(UsedNumbers::default(), 1000)), expected[..50]);
    }

    #[test]
    fn of_too_many_records_a_part_is_read_that_is_spread_evenly() {
        let used = UsedNumbers { inserted: 1_000_100, ..UsedNumbers::default() };
        let keys = READS.keys(used, 100);
        assert_eq!((keys.len(), keys.all()), (100, 1_000_050));
        let expected: Vec<u64> = (10..60).chain((0..50).map(|n| 100 + n * 20_000)).collect();
        assert_eq!(all(&keys), expected);
        assert_eq!(all(&READS.keys(used, 8)).len(), 8);
        let fewer = READS.keys(UsedNumbers::default(), 5);
        assert_eq!(all(&fewer), [10, 20, 30, 40, 50]);
    }

    #[test]
    fn final_reads_get_numbers_that_the_run_has_not_used() {
        let mut used = UsedNumbers::default();
        used.add(&Record { index: 40, process: 20, session: 7, ..Record::BLANK });
        let other = UsedNumbers { session: 9, ..UsedNumbers::default() };
        let used = used.and(other);
        let (records, begun, unanswered) = (0, 0, 0);
        let mut sink = FinalSink { sink: Vec::new(), used, next: used, records, begun, unanswered };
        let read = Record { index: 2, process: 2, session: 1, started: Nanos(5), ..Record::BLANK };
        Sink::push(&mut &mut sink, read);
        Sink::push(&mut &mut sink, Record { outcome: Outcome::Unknown, ..read });
        Sink::push(&mut &mut sink, Record { outcome: Outcome::Dropped, ..read });
        assert_eq!((sink.records, sink.unanswered), (2, 1));
        let first = sink.sink[0];
        assert_eq!((first.index, first.process, first.session), (43, 23, 10));
        assert_eq!((first.phase, first.intended), (Phase::Final, Nanos(5)));
        // Reads at another node have numbers of their own.
        sink.begin();
        Sink::push(&mut &mut sink, read);
        assert_eq!((sink.sink[2].index, sink.sink[2].session), (46, 12));
        assert_eq!((sink.records, sink.begun, sink.unanswered), (3, 1, 0));
    }
}
