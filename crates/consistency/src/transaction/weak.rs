//! Levels that need no version order: monotonic views, atomic reads, causal consistency.
//!
//! Biswas and Enea (*On the Complexity of Checking Transactional Consistency*, OOPSLA 2019) define
//! each level by which transactions must be committed before which, given what was read from whom.
//! If *t* reads a record from *a*, and *b* writes this record too, then *b* comes before *a* when
//!
//! * monotonic view (their read committed): *t* had read from *b* before;
//! * read atomic: *t* reads from *b*, or *b* is an earlier transaction of *t*'s session;
//! * causal: *t* depends on *b*, by reads and sessions.
//!
//! A cycle of such edges with those of reads, sessions and known versions violates the level. Few
//! edges suffice (Møldrup and Pavlogiannis: *AWDIT: An Optimal Weak Database Isolation Tester*,
//! PLDI 2025): the smaller side of each pair of transactions is gone through, O(n^1.5); of a
//! session only the last transaction that wrote the record matters, found by vector clocks, O(n·s)
//! for s sessions. Choices made:
//!
//! * What was there before all writes is a version before all others, not one of an extra session
//!   without order: a read of it that misses a write on which it depends is a violation.
//! * Monotonic views and atomic reads are judged without sessions first, which is what Adya's and
//!   Bailis' definitions say; what only shows with sessions is marked so, and violates causal.
//! * Adya's read committed is weaker than Biswas and Enea's: for it, G1 alone counts.
//! * Where the order of all versions is known, only the transactions on cycles by any dependencies
//!   and sessions are looked at ([`Suspects::OnCycles`]): if *t* reads from *a* and *b* replaced
//!   that, *t* comes before *b* by an anti-dependency, so a *b* that *t* depends on is on a cycle
//!   with *t* and with all that is between them. The other edges agree with the order of versions,
//!   and are on a cycle only if that order is, whose readers are looked at too.
//! * A transaction of unknown outcome depends on its session, nothing of its session on it. Where
//!   its session goes on all the same, only those who read from it are judged by it.
//!
//! Memory: 4 bytes per committed transaction and session for causal, at most
//! [`CLOCK_CELLS`] times 4 bytes, else it is not assessable; 16 bytes per edge.

use assay_model::{Nanos, Outcome};

use crate::transaction::ObservedTransaction;
use crate::transaction::graph::{Edge, Graph, sort};
use crate::transaction::log::Log;
use crate::transaction::order::{Dependencies, NOBODY, SourceRead};
use crate::verdict::{Anomaly, Edges};

/// Cells of all vector clocks: half a gibibyte, a million transactions of 128 sessions.
const CLOCK_CELLS: usize = 1 << 27;

/// That one transaction was committed before another, because of what a third one read.
struct Inferred {
    edge: Edge,
    reader: u32,
}

/// The transactions that may violate a level.
#[derive(Clone, Copy)]
pub(super) enum Suspects<'a> {
    All,
    /// Those with a true mark, by their numbers: they are on cycles of dependencies and sessions.
    OnCycles(&'a [bool]),
}

impl Suspects<'_> {
    fn holds(&self, transaction: u32) -> bool {
        match self {
            Suspects::All => true,
            Suspects::OnCycles(marks) => marks[transaction as usize],
        }
    }
}

/// What the levels are judged by; `start` is the node of what was there before all writes.
///
/// Transactions have numbers of their own here: the suspects and those whose versions they read.
struct Weak<'a, 'h> {
    dependencies: &'a Dependencies<'h>,
    /// The number in the history of each transaction.
    names: Vec<u32>,
    /// Committed transactions, session by session.
    by_session: Vec<u32>,
    /// Reads by transaction, in the order of their steps.
    reads: Vec<SourceRead>,
    /// (transaction, record), sorted.
    writes: Vec<(u32, u32)>,
    /// Where each transaction's reads and writes begin.
    read_starts: Vec<u32>,
    write_starts: Vec<u32>,
    /// Edges that hold in any case.
    base: Vec<Edge>,
    sessions: Vec<Edge>,
    start: u32,
}

/// Whether causal consistency could be judged.
pub(super) fn check(
    dependencies: &Dependencies,
    suspects: Suspects,
    keys: &[u64],
    log: &mut Log,
) -> bool {
    let weak = Weak::new(dependencies, suspects);
    let mut inferred = weak.pairs(false);
    let atomic_count = inferred.len();
    inferred.extend(weak.own_session(keys.len()));
    let session_count = inferred.len();
    let clocks = Clocks::new(&weak);
    if let Some(clocks) = clocks.as_ref().filter(|clocks| !clocks.is_cyclic) {
        inferred.extend(weak.causal(clocks));
        // The edges of causal are those of all others too.
        if weak.search(&inferred, Edges::Session).parts.is_empty() {
            return true;
        }
    }
    let mut note = |inferred: &[Inferred], anomaly, edges, known: Option<&Cycles>| {
        let cycles = weak.search(inferred, edges);
        weak.log(&cycles, inferred, known, |show| log.add_cycle(anomaly, edges, show), keys);
        cycles
    };
    note(&weak.pairs(true), Anomaly::NonMonotonicView, Edges::Data, None);
    let atomic = note(&inferred[..atomic_count], Anomaly::FracturedRead, Edges::Data, None);
    let of_session = &inferred[..session_count];
    let fractured = note(of_session, Anomaly::FracturedRead, Edges::Session, Some(&atomic));
    if inferred.len() > session_count {
        note(&inferred, Anomaly::CausalityViolation, Edges::Session, Some(&fractured));
    }
    clocks.is_some()
}

/// Components with a cycle: the nodes of each, with a shortest cycle through an inferred edge.
struct Cycles {
    graph: Graph,
    parts: Vec<Vec<u32>>,
}

impl<'a, 'h> Weak<'a, 'h> {
    fn new(dependencies: &'a Dependencies<'h>, suspects: Suspects) -> Weak<'a, 'h> {
        let numbers = Numbers::new(dependencies, suspects);
        let (count, number) = (numbers.names.len(), |at: u32| numbers.of[at as usize]);
        let is_inside = |at: u32| number(at) != NOBODY;
        let is_judged = |at: u32| numbers.is_judged[at as usize];
        let reads = dependencies.reads.iter().filter(|read| is_judged(read.transaction));
        let mut reads: Vec<SourceRead> = reads
            .map(|read| SourceRead {
                transaction: number(read.transaction),
                source: if read.source == NOBODY { NOBODY } else { number(read.source) },
                ..*read
            })
            .collect();
        reads.sort_unstable_by_key(|read| (read.transaction, read.step));
        let writes = dependencies.writes.iter().filter(|write| is_judged(write.0));
        let mut writes: Vec<(u32, u32)> = writes.map(|(at, key)| (number(*at), *key)).collect();
        writes.sort_unstable();
        writes.dedup();
        let read_starts = starts(count, reads.iter().map(|read| read.transaction));
        let write_starts = starts(count, writes.iter().map(|write| write.0));
        let of = |mask: u8| {
            let edges = dependencies.edges.iter().filter(move |edge| edge.sort & mask != 0);
            let inside = edges.filter(|edge| is_inside(edge.from) && is_inside(edge.to));
            let renamed =
                |edge: &Edge| Edge { from: number(edge.from), to: number(edge.to), ..*edge };
            inside.map(renamed).collect::<Vec<Edge>>()
        };
        let (base, sessions) = (of(sort::WW | sort::WR), of(sort::SESSION));
        let start = count as u32;
        let all = dependencies.sessions().into_iter().filter(|at| is_inside(*at));
        let by_session = all.map(number).collect();
        let names = numbers.names;
        Weak {
            dependencies,
            names,
            by_session,
            reads,
            writes,
            read_starts,
            write_starts,
            base,
            sessions,
            start,
        }
    }

    fn transaction(&self, at: u32) -> &ObservedTransaction {
        &self.dependencies.history.transactions[self.names[at as usize] as usize]
    }

    fn reads(&self, transaction: u32) -> &[SourceRead] {
        let at = transaction as usize;
        &self.reads[self.read_starts[at] as usize..self.read_starts[at + 1] as usize]
    }

    fn writes(&self, transaction: u32) -> &[(u32, u32)] {
        let at = transaction as usize;
        &self.writes[self.write_starts[at] as usize..self.write_starts[at + 1] as usize]
    }

    fn does_write(&self, transaction: u32, key: u32) -> bool {
        self.writes(transaction).binary_search(&(transaction, key)).is_ok()
    }

    /// `writer` comes before the version of `read`.
    fn infer(&self, writer: u32, read: &SourceRead, edges: &mut Vec<Inferred>) {
        let to = if read.source == NOBODY { self.start } else { read.source };
        if writer != to && writer != read.transaction {
            let (key, reader) = (read.key, read.transaction);
            let edge = Edge { from: writer, to, key, sort: sort::INFERRED };
            edges.push(Inferred { edge, reader });
            if to == self.start {
                let edge = Edge { from: to, to: writer, key, sort: sort::THROUGH };
                edges.push(Inferred { edge, reader });
            }
        }
    }

    /// For each pair of a transaction and a writer that it reads from: what it reads of the
    /// writer's records, if `is_later` than the first read from the writer.
    fn pairs(&self, is_later: bool) -> Vec<Inferred> {
        let mut edges = Vec::new();
        let mut by_key: Vec<SourceRead> = Vec::new();
        let mut sources: Vec<(u32, u32)> = Vec::new();
        for transaction in 0..self.start {
            let reads = self.reads(transaction);
            if reads.len() < 2 {
                continue;
            }
            sources.clear();
            sources.extend(reads.iter().map(|read| (read.source, read.step)));
            sources.retain(|(source, _)| *source != NOBODY);
            sources.sort_unstable();
            sources.dedup_by_key(|(source, _)| *source);
            by_key.clear();
            by_key.extend(reads);
            by_key.sort_unstable_by_key(|read| (read.key, read.step));
            for (source, step) in &sources {
                let from = if is_later { *step } else { 0 };
                self.pair(*source, from, &by_key, &mut edges);
            }
            for two in by_key.windows(2).filter(|two| two[0].key == two[1].key) {
                if two[0].source != NOBODY {
                    self.infer(two[0].source, &two[1], &mut edges);
                }
                if !is_later && two[1].source != NOBODY {
                    self.infer(two[1].source, &two[0], &mut edges);
                }
            }
        }
        edges
    }

    /// The first read of each record of `writer` from step `from` on.
    fn pair(&self, writer: u32, from: u32, by_key: &[SourceRead], edges: &mut Vec<Inferred>) {
        let writes = self.writes(writer);
        if writes.len() <= by_key.len() {
            for (_, key) in writes {
                let at = by_key.partition_point(|read| (read.key, read.step) < (*key, from));
                if let Some(read) = by_key.get(at).filter(|read| read.key == *key) {
                    self.infer(writer, read, edges);
                }
            }
        } else {
            for same in by_key.chunk_by(|one, other| one.key == other.key) {
                let read = same.iter().find(|read| read.step >= from);
                if let Some(read) = read.filter(|read| self.does_write(writer, read.key)) {
                    self.infer(writer, read, edges);
                }
            }
        }
    }

    /// For each read: the last transaction of the same session before that wrote the record, which
    /// is one of so many.
    fn own_session(&self, records: usize) -> Vec<Inferred> {
        let mut edges = Vec::new();
        // The last writer of each record, with the number of its session.
        let mut last = vec![(0u32, NOBODY); records];
        let (mut of, mut number) = (None, 0);
        for at in self.by_session.iter().copied() {
            let session = self.transaction(at).session;
            if of != Some(session) {
                of = Some(session);
                number += 1;
            }
            for read in self.reads(at) {
                let (session, writer) = last[read.key as usize];
                if session == number {
                    self.infer(writer, read, &mut edges);
                }
            }
            if self.transaction(at).outcome == Outcome::Done {
                for (_, key) in self.writes(at) {
                    last[*key as usize] = (number, at);
                }
            }
        }
        edges
    }

    /// For each read and session: the last transaction that the reader depends on and that wrote
    /// the record.
    fn causal(&self, clocks: &Clocks) -> Vec<Inferred> {
        // Writers by record, session, place in the session.
        let mut writers: Vec<(u32, u32, u32, u32)> = self
            .writes
            .iter()
            .filter(|(at, _)| clocks.place[*at as usize] != 0)
            .map(|(at, key)| (*key, clocks.session[*at as usize], clocks.place[*at as usize], *at))
            .collect();
        writers.sort_unstable();
        let keys = writers.last().map_or(0, |last| last.0 as usize + 1);
        let starts = starts(keys, writers.iter().map(|writer| writer.0));
        let mut edges = Vec::new();
        for read in self.reads.iter().filter(|read| (read.key as usize) < keys) {
            let clock = clocks.of(read.transaction);
            // What the version's transaction depends on comes before it in any case.
            let of_source = (read.source != NOBODY).then(|| clocks.of(read.source));
            let (key, own) = (read.key as usize, read.transaction);
            let mut rest = &writers[starts[key] as usize..starts[key + 1] as usize];
            while let Some((_, session, _, _)) = rest.first() {
                let at = *session as usize;
                let (group, others) = rest.split_at(rest.partition_point(|one| one.1 == *session));
                rest = others;
                if of_source.is_some_and(|before| before[at] >= clock[at]) {
                    continue;
                }
                let seen = group.partition_point(|writer| writer.2 <= clock[at]);
                let before = group[..seen].iter().rev().find(|writer| writer.3 != own);
                let is_news = |place| of_source.is_none_or(|clock| clock[at] < place);
                if let Some((_, _, _, writer)) = before.filter(|writer| is_news(writer.2)) {
                    self.infer(*writer, read, &mut edges);
                }
            }
        }
        edges
    }

    /// The components with a cycle through an inferred edge.
    fn search(&self, inferred: &[Inferred], edges: Edges) -> Cycles {
        let mut all = self.base.clone();
        if edges == Edges::Session {
            all.extend(&self.sessions);
        }
        all.extend(inferred.iter().map(|one| one.edge));
        let graph = Graph::new(self.start as usize + 1, &all);
        let components = graph.components(u8::MAX);
        let inner = |node: &u32| {
            let own = components.of[*node as usize];
            graph.legs(*node, sort::INFERRED).any(|leg| components.of[leg.to as usize] == own)
        };
        let parts = components.cyclic().filter(|part| part.iter().any(inner));
        let parts = parts.map(<[u32]>::to_vec).collect();
        Cycles { graph, parts }
    }

    /// Calls `log` for those components that hold none of `known`.
    fn log(
        &self,
        cycles: &Cycles,
        inferred: &[Inferred],
        known: Option<&Cycles>,
        mut log: impl FnMut(&mut dyn FnMut() -> (u64, Vec<u32>, Nanos)),
        keys: &[u64],
    ) {
        let mut is_known = vec![false; cycles.graph.nodes()];
        for node in known.iter().flat_map(|known| known.parts.iter().flatten()) {
            is_known[*node as usize] = true;
        }
        let mut places = Vec::new();
        for part in &cycles.parts {
            if !part.iter().any(|node| is_known[*node as usize]) {
                log(&mut || {
                    let graph = cycles.graph.part(part, u8::MAX, &mut places);
                    let (key, nodes) = self.cycle(&graph, part, inferred);
                    (keys[key as usize], nodes, Nanos::ZERO)
                });
            }
        }
    }

    /// The record and the transactions of a shortest cycle through the first inferred edge of a
    /// component; behind each inferred edge's origin the reader that tells it.
    fn cycle(&self, graph: &Graph, part: &[u32], inferred: &[Inferred]) -> (u32, Vec<u32>) {
        let Some((mut from, first)) = graph.edges(sort::INFERRED).next() else {
            return (0, Vec::new());
        };
        let path = graph.path(first.to, from, u8::MAX, usize::MAX).unwrap_or_default();
        let mut nodes = Vec::new();
        for leg in [first].into_iter().chain(path) {
            let (origin, to) = (part[from as usize], part[leg.to as usize]);
            nodes.push(origin);
            let is_same = |one: &&Inferred| {
                let edge = one.edge;
                leg.sort == sort::INFERRED
                    && (edge.from, edge.to, edge.key) == (origin, to, leg.key)
            };
            nodes.extend(inferred.iter().find(is_same).map(|one| one.reader));
            from = leg.to;
        }
        nodes.retain(|node| *node < self.start);
        nodes.dedup();
        nodes.iter_mut().for_each(|node| *node = self.names[*node as usize]);
        (first.key, nodes)
    }
}

/// Numbers without gaps for the transactions that are looked at.
struct Numbers {
    names: Vec<u32>,
    /// Of each node, its number or [`NOBODY`].
    of: Vec<u32>,
    /// Of each transaction, whether its reads and writes count: suspects and their readers.
    is_judged: Vec<bool>,
}

impl Numbers {
    fn new(dependencies: &Dependencies, suspects: Suspects) -> Numbers {
        let count = dependencies.history.transactions.len() as u32;
        let mut is_judged: Vec<bool> = (0..count).map(|at| suspects.holds(at)).collect();
        for read in dependencies.reads.iter().filter(|read| read.source != NOBODY) {
            is_judged[read.transaction as usize] |= suspects.holds(read.source);
        }
        let mut is_inside = is_judged.clone();
        for read in dependencies.reads.iter().filter(|read| read.source != NOBODY) {
            is_inside[read.source as usize] |= is_judged[read.transaction as usize];
        }
        let names: Vec<u32> = (0..count).filter(|at| is_inside[*at as usize]).collect();
        let mut of = vec![NOBODY; dependencies.nodes()];
        for (name, number) in names.iter().zip(0..) {
            of[*name as usize] = number;
        }
        Numbers { names, of, is_judged }
    }
}

/// Where the items of each number begin in a list that is sorted by it.
fn starts(count: usize, numbers: impl Iterator<Item = u32>) -> Vec<u32> {
    let mut starts = vec![0u32; count + 1];
    for number in numbers {
        starts[number as usize + 1] += 1;
    }
    for number in 0..count {
        starts[number + 1] += starts[number];
    }
    starts
}

/// Which transactions of each session a transaction depends on.
struct Clocks {
    /// Each transaction's session, as a small number.
    session: Vec<u32>,
    /// Its place in the session, from 1; 0 for one of unknown outcome that is not the last.
    place: Vec<u32>,
    /// Its row in `cells`.
    row: Vec<u32>,
    cells: Vec<u32>,
    width: usize,
    /// Reads and sessions alone have a cycle: that is G1c.
    is_cyclic: bool,
}

impl Clocks {
    fn new(weak: &Weak) -> Option<Clocks> {
        let (sessions, count) = (&weak.by_session, weak.start as usize);
        let mut clocks = Clocks {
            session: vec![0; count],
            place: vec![0; count],
            row: vec![0; count],
            cells: Vec::new(),
            width: 0,
            is_cyclic: false,
        };
        let (mut of, mut place) = (None, 0);
        for (row, at) in sessions.iter().enumerate() {
            let session = weak.transaction(*at).session;
            if of != Some(session) {
                (of, place) = (Some(session), 0);
                clocks.width += 1;
            }
            clocks.session[*at as usize] = clocks.width as u32 - 1;
            clocks.row[*at as usize] = row as u32;
            let session_of = |at: &u32| weak.transaction(*at).session;
            let is_last = sessions.get(row + 1).map(session_of) != of;
            if is_last || weak.transaction(*at).outcome == Outcome::Done {
                place += 1;
                clocks.place[*at as usize] = place;
            }
        }
        let cells = sessions.len().checked_mul(clocks.width).filter(|all| *all <= CLOCK_CELLS)?;
        let mut edges: Vec<Edge> =
            weak.base.iter().filter(|edge| edge.sort == sort::WR).copied().collect();
        edges.extend(&weak.sessions);
        let graph = Graph::new(count + 1, &edges);
        let order = graph.components(u8::MAX);
        clocks.is_cyclic = order.cyclic().next().is_some();
        if !clocks.is_cyclic {
            clocks.cells = vec![0; cells];
            // Edges lead to lower components: from the highest one on, all causes come first.
            for node in order.nodes.iter().rev().filter(|node| (**node as usize) < count) {
                for leg in graph.legs(*node, u8::MAX) {
                    clocks.join(*node, leg.to);
                }
            }
        }
        Some(clocks)
    }

    fn of(&self, transaction: u32) -> &[u32] {
        let start = self.row[transaction as usize] as usize * self.width;
        &self.cells[start..start + self.width]
    }

    /// `later` depends on `former`, and on all that `former` depends on.
    fn join(&mut self, former: u32, later: u32) {
        let from = self.row[former as usize] as usize * self.width;
        let to = self.row[later as usize] as usize * self.width;
        for at in 0..self.width {
            self.cells[to + at] = self.cells[to + at].max(self.cells[from + at]);
        }
        let own = to + self.session[former as usize] as usize;
        self.cells[own] = self.cells[own].max(self.place[former as usize]);
    }
}
