//! Servers for tests, before the store in memory or one that does as it is told.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use assay_fmke::{AnswerStyle, FmkeServer, ServerConfig, ServerLimits};
use assay_mapping::{Class, Expected, Keys, Mapped, advise};
use assay_model::{Catalogue, Layout as Tables, Nanos, Reason, Setting};
use assay_store::memory::Memory;
use assay_store::{
    Answer, Answers, Call, Capabilities, Client, DataModel, Existing, OpenError, Reply, Request,
    ScanOrder, Store, Ticket,
};
use assay_workload::script::fmke::{FmkeLayout, Queries, tables};

use crate::http::Caller;

/// A server that runs.
pub struct Served {
    pub server: FmkeServer,
}

static BEGIN: LazyLock<Instant> = LazyLock::new(Instant::now);

fn clock() -> Nanos {
    Nanos::from(BEGIN.elapsed())
}

/// A configuration with one worker.
pub fn config(layout: FmkeLayout, compat: AnswerStyle, limits: ServerLimits) -> ServerConfig {
    ServerConfig {
        layout,
        compat,
        workers: 1,
        blocking_threads: 2,
        limits,
        tls: None,
        store_url: "memory:".into(),
        clock,
    }
}

impl Served {
    pub fn start(store: Arc<dyn Store>, config: &ServerConfig) -> Served {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        Served { server: FmkeServer::start(listener, store, config).expect("it starts") }
    }

    /// Before the store in memory.
    pub fn memory(layout: FmkeLayout, compat: AnswerStyle, limits: ServerLimits) -> Served {
        Served::start(memory(layout), &config(layout, compat, limits))
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn caller(&self) -> Caller {
        Caller::new(self.address())
    }
}

/// The store in memory, with the relations of `layout`.
fn memory(layout: FmkeLayout) -> Arc<dyn Store> {
    let named = |(name, text): &(&str, String)| assay_model::Named {
        name: (*name).to_owned(),
        text: text.clone(),
    };
    let schema: Vec<_> = tables(layout).iter().map(named).collect();
    let queries = Queries::new(layout);
    let catalogue = assay_sql::catalogue(&schema, queries.texts()).expect("the queries are right");
    let catalogue: Arc<Catalogue> = Arc::new(catalogue);
    let (frequencies, rows) =
        (vec![1.0; catalogue.queries.len()], vec![1.0; catalogue.schema.relations.len()]);
    let expected = Expected {
        frequencies: &frequencies,
        rows: &rows,
        keys: Keys::Checked,
        keeps_relations: true,
    };
    let physical = advise(&catalogue, Class::KeyValue, &expected).expect("there is a mapping").best;
    let store = Mapped::new(Arc::new(Memory::new()), physical);
    store.prepare_queries(&catalogue, Existing::Refuse).expect("nothing is there");
    Arc::new(store)
}

/// A store that gives every request the same answer, after a while.
#[derive(Clone, Copy)]
pub struct StoreScript {
    pub after: Duration,
    pub answer: Same,
    /// How many requests it works on at the same time; the others wait.
    pub at_once: usize,
}

/// The answer to every request.
#[derive(Clone, Copy)]
pub enum Same {
    Nothing,
    Refused(Reason),
    Unknown,
    /// None comes.
    Silence,
}

impl StoreScript {
    pub fn serve(self, limits: ServerLimits) -> Served {
        let config = config(FmkeLayout::Normalised, AnswerStyle::Corrected, limits);
        Served::start(Arc::new(self), &config)
    }
}

impl Store for StoreScript {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            data_model: DataModel::Relational,
            scan_order: ScanOrder::Key,
            is_persistent: false,
            takes_queries: true,
            ..Capabilities::of("told")
        }
    }

    fn prepare(&self, _layout: &Tables) -> Result<(), OpenError> {
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        Ok(Box::new(ToldClient { told: *self, waiting: VecDeque::new(), now: Nanos::ZERO }))
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        Ok(Vec::new())
    }

    fn clear(&self) -> Result<(), OpenError> {
        Ok(())
    }
}

struct ToldClient {
    told: StoreScript,
    /// When each is due.
    waiting: VecDeque<(Nanos, Ticket)>,
    now: Nanos,
}

impl Client for ToldClient {
    fn start(&mut self, _: Nanos, ticket: Ticket, _: &Request<'_>, answers: &mut dyn Answers) {
        answers.answer(ticket, Answer::Refused(Reason::Unsupported));
    }

    fn call(&mut self, now: Nanos, ticket: Ticket, _: &Call<'_>, _: &mut dyn Answers) {
        let after = Nanos::from(self.told.after);
        let before = self.waiting.len().checked_sub(self.told.at_once);
        let begins = before.map_or(now, |before| self.waiting[before].0.max(now));
        self.waiting.push_back((begins + after, ticket));
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.now = now;
        if matches!(self.told.answer, Same::Silence) {
            return;
        }
        while self.waiting.front().is_some_and(|(due, _)| *due <= now) {
            let Some((_, ticket)) = self.waiting.pop_front() else { break };
            let answer = match self.told.answer {
                Same::Refused(reason) => Answer::Refused(reason),
                Same::Unknown => Answer::Unknown(Reason::ConnectionLost),
                Same::Nothing | Same::Silence => Answer::Done(Reply::MISSING),
            };
            answers.answer(ticket, answer);
        }
    }
}
