//! Puts the answers to the commands of one request, which went to several nodes, together.

use std::ops::Range;

use assay_model::Kind;
use assay_store::answer::encode_row;
use assay_store::{Answer, Answers, OwnedRequest, Reply, Request, Rows, Ticket, row};

use crate::connection::both_halves;
use crate::error::Failure;

/// One command of a request under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Command {
    /// The place of the request.
    pub(super) place: usize,
    /// Which of its commands: 0 is the first; of a scan, the others are its records.
    pub(super) number: usize,
    /// Whether it was redirected already.
    pub(super) is_redirected: bool,
}

const NUMBER_BITS: u32 = 30;

impl Command {
    /// The ticket under which it goes to a node.
    pub(super) fn ticket(self) -> Ticket {
        let number = (self.number as u64) << 1 | u64::from(self.is_redirected);
        Ticket((self.place as u64) << (NUMBER_BITS + 1) | number)
    }

    /// What a ticket stands for.
    pub(super) fn of(ticket: Ticket) -> Command {
        Command {
            place: (ticket.0 >> (NUMBER_BITS + 1)) as usize,
            number: (ticket.0 >> 1) as usize & ((1 << NUMBER_BITS) - 1),
            is_redirected: ticket.0 & 1 == 1,
        }
    }
}

/// A request with what has come of it.
#[derive(Default)]
struct Job {
    /// `None` if no request waits for it: the slot is free.
    ticket: Option<Ticket>,
    request: OwnedRequest,
    requests: u16,
    /// The node that the last of its commands went to.
    node: u8,
    /// How many answers are to come.
    missing: usize,
    /// Whether the record and its entry in the index are two commands.
    is_double: bool,
    /// Of the first command, then the second, of an insert or delete.
    halves: [Option<Result<bool, Failure>>; 2],
    /// The keys that a scan has found.
    keys: Vec<Range<usize>>,
    /// Where in `bytes` the record of each key is; nothing if it is gone.
    records: Vec<Range<usize>>,
    bytes: Vec<u8>,
    failure: Option<Failure>,
}

/// The requests of a worker that are in flight.
#[derive(Default)]
pub(super) struct SlotTable {
    jobs: Vec<Job>,
    free: Vec<usize>,
    /// Scans whose keys have come.
    pub(super) scans: Vec<usize>,
    rows: Vec<u8>,
}

impl SlotTable {
    /// How many requests wait for an answer.
    pub(super) fn in_flight(&self) -> usize {
        self.jobs.len() - self.free.len()
    }

    /// Takes a request of so many commands; gives its place.
    pub(super) fn take(&mut self, ticket: Ticket, request: &Request<'_>, count: u16) -> usize {
        let place = self.free.pop().unwrap_or(self.jobs.len());
        if place == self.jobs.len() {
            self.jobs.push(Job::default());
        }
        let job = &mut self.jobs[place];
        job.ticket = Some(ticket);
        job.request.fill(request);
        job.requests = count;
        job.node = 0;
        job.missing = usize::from(count);
        job.is_double = count == 2;
        job.halves = [None; 2];
        job.keys.clear();
        job.records.clear();
        job.bytes.clear();
        job.failure = None;
        place
    }

    /// The request at a place.
    pub(super) fn request(&self, place: usize) -> Request<'_> {
        self.jobs[place].request.request()
    }

    /// A key that a scan has found.
    pub(super) fn key(&self, place: usize, number: usize) -> &[u8] {
        let job = &self.jobs[place];
        &job.bytes[job.keys[number].clone()]
    }

    /// How many keys a scan has found.
    pub(super) fn keys(&self, place: usize) -> usize {
        self.jobs[place].keys.len()
    }

    /// So many more commands were sent.
    pub(super) fn count(&mut self, place: usize, more: usize) {
        let more = u16::try_from(more).unwrap_or(u16::MAX);
        self.jobs[place].requests = self.jobs[place].requests.saturating_add(more);
    }

    /// A command of the request at `place` is sent to this node.
    pub(super) fn went_to(&mut self, place: usize, node: u8) {
        self.jobs[place].node = node;
    }

    /// Whether `ticket`, of the executor, waits for the request at `place`.
    pub(super) fn is_for(&self, place: usize, ticket: Ticket) -> bool {
        self.jobs.get(place).is_some_and(|job| job.ticket == Some(ticket))
    }

    /// A command has ended: keeps its answer, or answers the request with it.
    pub(super) fn ended(&mut self, command: Command, answer: Answer<'_>, outer: &mut dyn Answers) {
        let Command { place, number, .. } = command;
        let job = &mut self.jobs[place];
        job.missing -= 1;
        match job.request.request().kind {
            Kind::Scan => self.scan_ended(place, number, answer, outer),
            Kind::Insert | Kind::Delete if job.is_double => {
                job.halves[number] = Some(half(answer));
                if job.missing == 0 {
                    let first = job.halves[0].unwrap_or(Err(Failure::GARBLED));
                    let second = job.halves[1].unwrap_or(Err(Failure::GARBLED)).map(drop);
                    let both = both_halves(first, second);
                    let done = |found| Answer::Done(Reply { found, rows: Rows::NONE });
                    self.end(place, both.map_or_else(Failure::answer, done), outer);
                }
            }
            _ => self.end(place, answer, outer),
        }
    }

    fn scan_ended(
        &mut self,
        place: usize,
        number: usize,
        answer: Answer<'_>,
        outer: &mut dyn Answers,
    ) {
        let job = &mut self.jobs[place];
        match answer {
            Answer::Done(reply) if number == 0 => {
                let Job { keys, bytes, .. } = job;
                reply.rows.each(|field| {
                    let begin = bytes.len();
                    bytes.extend_from_slice(field.value);
                    keys.push(begin..bytes.len());
                });
                if !job.keys.is_empty() {
                    job.missing = job.keys.len();
                    job.records = vec![0..0; job.keys.len()];
                    self.scans.push(place);
                    return;
                }
            }
            Answer::Done(reply) => {
                let begin = job.bytes.len();
                row::flatten(&reply.rows, &mut job.bytes);
                job.records[number - 1] = begin..job.bytes.len();
            }
            Answer::Refused(reason) => {
                job.failure.get_or_insert(Failure::Refused(reason));
            }
            Answer::Unknown(reason) => {
                job.failure.get_or_insert(Failure::Unknown(reason));
            }
        }
        if job.missing > 0 {
            return;
        }
        if let Some(failure) = job.failure {
            return self.end(place, failure.answer(), outer);
        }
        let mut rows = std::mem::take(&mut self.rows);
        rows.clear();
        for record in &job.records {
            rows.extend_from_slice(&job.bytes[record.clone()]);
        }
        let reply = Reply { found: !rows.is_empty(), rows: Rows::Encoded(&rows) };
        self.end(place, Answer::Done(reply), outer);
        self.rows = rows;
    }

    /// Fills in an empty record for those that are gone, for callers that need to know of them.
    pub(super) fn tell_gap(&mut self, command: Command, outer: &mut dyn Answers) {
        let mut gap = Vec::new();
        encode_row(0, &mut gap);
        let reply = Reply { found: true, rows: Rows::Encoded(&gap) };
        self.ended(command, Answer::Done(reply), outer);
    }

    fn end(&mut self, place: usize, answer: Answer<'_>, outer: &mut dyn Answers) {
        let job = &mut self.jobs[place];
        let Some(ticket) = job.ticket.take() else { return };
        self.free.push(place);
        if job.requests != 1 {
            outer.requests(ticket, job.requests);
        }
        if job.node != 0 {
            outer.node(ticket, job.node);
        }
        outer.answer(ticket, answer);
    }
}

fn half(answer: Answer<'_>) -> Result<bool, Failure> {
    match answer {
        Answer::Done(reply) => Ok(reply.found),
        Answer::Refused(reason) => Err(Failure::Refused(reason)),
        Answer::Unknown(reason) => Err(Failure::Unknown(reason)),
    }
}

/// The answers of the nodes, on their way to the executor.
pub(super) struct Counter<'a> {
    pub(super) slot_table: &'a mut SlotTable,
    pub(super) outer: &'a mut dyn Answers,
    /// Whether a scan of a table tells of keys whose record is gone.
    pub(super) tells_gaps: &'a dyn Fn(u16) -> bool,
}

impl Answers for Counter<'_> {
    fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
        let command = Command::of(ticket);
        let request = self.slot_table.request(command.place);
        let is_record = request.kind == Kind::Scan && command.number > 0;
        let is_gap = matches!(answer, Answer::Done(reply) if !reply.found);
        if is_record && is_gap && (self.tells_gaps)(request.table) {
            return self.slot_table.tell_gap(command, self.outer);
        }
        self.slot_table.ended(command, answer, self.outer);
    }
}

#[cfg(test)]
mod tests {
    use assay_model::{Fields, Reason};

    use super::*;

    #[test]
    fn a_ticket_belongs_to_one_command() {
        for place in [0, 1, 1 << 30] {
            for number in [0, 1, 100_000] {
                for is_redirected in [false, true] {
                    let command = Command { place, number, is_redirected };
                    assert_eq!(Command::of(command.ticket()), command);
                }
            }
        }
    }

    #[derive(Default)]
    struct ReceivedReply(Vec<String>);

    impl Answers for ReceivedReply {
        fn answer(&mut self, ticket: Ticket, answer: Answer<'_>) {
            let reported = match answer {
                Answer::Done(reply) => format!("done {} {}", reply.found, reply.rows.count()),
                other => format!("{other:?}"),
            };
            self.0.push(format!("{} {reported}", ticket.0));
        }

        fn requests(&mut self, ticket: Ticket, count: u16) {
            self.0.push(format!("{} took {count}", ticket.0));
        }
    }

    fn request(kind: Kind) -> Request<'static> {
        let fields = Fields::All;
        Request { fields, limit: 9, ..Request::new(kind, b"k") }
    }

    fn done(found: bool) -> Answer<'static> {
        Answer::Done(Reply { found, rows: Rows::NONE })
    }

    /// What an insert of two commands ends with.
    fn both(first: Answer<'static>, second: Answer<'static>) -> String {
        let (mut slot_table, mut received) = (SlotTable::default(), ReceivedReply::default());
        let place = slot_table.take(Ticket(7), &request(Kind::Insert), 2);
        let command = |number| Command { place, number, is_redirected: false };
        slot_table.ended(command(1), second, &mut received);
        assert_eq!((received.0.len(), slot_table.in_flight()), (0, 1));
        slot_table.ended(command(0), first, &mut received);
        assert_eq!(slot_table.in_flight(), 0);
        assert_eq!(received.0[0], "7 took 2");
        received.0.remove(1)
    }

    #[test]
    fn half_an_insert_is_unknown() {
        let busy = Answer::Refused(Reason::Busy);
        assert_eq!(both(done(true), done(false)), "7 done true 0");
        assert_eq!(both(busy, busy), "7 Refused(Busy)");
        assert_eq!(both(done(true), busy), "7 Unknown(Busy)");
        assert_eq!(both(busy, done(true)), "7 Unknown(Busy)");
        assert_eq!(
            both(Answer::Unknown(Reason::ConnectionLost), busy),
            "7 Unknown(ConnectionLost)"
        );
    }

    #[test]
    fn one_command_is_answered_as_it_is() {
        let (mut slot_table, mut received) = (SlotTable::default(), ReceivedReply::default());
        let place = slot_table.take(Ticket(7), &request(Kind::Read), 1);
        slot_table.ended(
            Command { place, number: 0, is_redirected: false },
            done(true),
            &mut received,
        );
        assert_eq!(received.0, ["7 done true 0"]);
    }
}
