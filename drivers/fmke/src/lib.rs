//! An application server of FMKe, ours or anybody's, over HTTP/1.1.
//!
//! It takes the queries of the workload `fmke` with `through = "server"`, each of which stands for
//! one request, by their names. Each connection has one request at a time.
//!
//! What an answer means:
//! * A record that is not there, an identifier in use, a prescription that was processed already:
//!   the application has decided, so it is done with `found = false`.
//! * Another reason, such as `aborted`, with status 200: refused, and so are 400, 404, 408, 413 and
//!   503, none of which has reached the store.
//! * 500, another status, or an answer that cannot be read: unknown, as the server had accepted it.
//! * A connection that breaks before the request left: refused; afterwards: unknown.

mod answer;
mod link;
mod options;
mod request;

use std::sync::Arc;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::latest::Latest;
use assay_driver_kit::task::{self, Pool};
use assay_model::{Catalogue, Layout, Nanos, Reason, Setting};
use assay_store::{
    Answer, Answers, Call, Capabilities, Client, DataModel, Existing, OpenError, Reply, Request,
    Step, Store, Ticket,
};

use link::{Http, Job};
pub use options::Options;
use request::Requested;

/// What a query is to the server, by its place in the catalogue.
type Plan = Vec<Requested>;

/// A server of FMKe, or several before one store.
pub struct Fmke {
    options: Options,
    plan: Latest<Arc<Plan>>,
}

impl Fmke {
    /// A store with the options that `url` says, see [`Options`].
    ///
    /// # Errors
    /// If the URL is invalid.
    pub fn from_url(url: &str) -> Result<Fmke, OpenError> {
        Ok(Fmke { options: url.parse()?, plan: Latest::default() })
    }

    /// The options.
    pub fn options(&self) -> &Options {
        &self.options
    }

    fn http(&self) -> Http {
        Http { options: self.options.clone(), plan: self.plan.get() }
    }

    /// What the servers say about themselves.
    fn status(&self) -> Result<Vec<answer::Status>, OpenError> {
        let http = self.http();
        let asked = task::block_on(async {
            let mut all = Vec::new();
            for host in 0..self.options.address.hosts.len() {
                all.push(http.status(host).await?);
            }
            Ok(all)
        });
        asked.map_err(|error| {
            self.options.failed(format!("this machine has no resources for it: {error}"))
        })?
    }
}

impl Store for Fmke {
    fn capabilities(&self) -> Capabilities {
        Capabilities {
            data_model: DataModel::Relational,
            takes_queries: true,
            ..Capabilities::of("fmke-http")
        }
    }

    fn prepare(&self, _layout: &Layout) -> Result<(), OpenError> {
        Err(self.options.unsupported("it has no records by key, only what the workload fmke asks"))
    }

    fn prepare_queries(
        &self,
        catalogue: &Arc<Catalogue>,
        existing: Existing,
    ) -> Result<(), OpenError> {
        let plan: Result<Plan, &str> = catalogue
            .queries
            .iter()
            .map(|query| Requested::of(&query.name).ok_or(query.name.as_str()))
            .collect();
        let plan = plan.map_err(|name| {
            self.options.unsupported(format!(
                "it has no request that query {name:?} stands for; it takes the workload fmke, \
                 with --set through=server"
            ))
        })?;
        if existing == Existing::Replace {
            return Err(self.options.unsupported(
                "its interface removes nothing; start its server anew, `assay fmke serve` with \
                 --replace",
            ));
        }
        self.status()?;
        self.plan.set(Arc::new(plan));
        Ok(())
    }

    fn open(&self, _worker: usize) -> Result<Box<dyn Client>, OpenError> {
        let pool = Pool::open(self.http(), self.options.connections, &self.options.to_string())?;
        Ok(Box::new(Worker { pool }))
    }

    fn room(&self) -> Option<usize> {
        Some(self.options.connections * self.options.address.hosts.len())
    }

    fn settings(&self) -> Result<Vec<Setting>, OpenError> {
        let mut settings = vec![Setting::new(
            "connections",
            self.options.connections.to_string(),
            "per worker and server; each has one request at a time",
        )];
        let names: Vec<(String, String)> =
            self.status()?.into_iter().map(|of| (of.driver, of.target_database)).collect();
        if let Some((driver, database)) = names.first() {
            let meaning = "the server's word for how it reaches its store";
            settings.push(Setting::new("driver", driver.clone(), meaning));
            settings.push(Setting::new("target_database", database.clone(), "the store behind it"));
        }
        if names.iter().any(|one| Some(one) != names.first()) {
            settings.push(Setting::new("servers", "differ", "they have not the same store"));
        }
        Ok(settings)
    }

    fn clear(&self) -> Result<(), OpenError> {
        Err(self.options.unsupported("its interface removes nothing"))
    }
}

/// The connections of one worker.
struct Worker {
    pool: Pool<Http>,
}

impl Client for Worker {
    fn is_ready(&self) -> bool {
        self.pool.is_ready()
    }

    fn start(
        &mut self,
        _now: Nanos,
        ticket: Ticket,
        _request: &Request<'_>,
        answers: &mut dyn Answers,
    ) {
        answers.answer(ticket, Answer::Refused(Reason::Unsupported));
    }

    fn call(&mut self, _now: Nanos, ticket: Ticket, call: &Call<'_>, answers: &mut dyn Answers) {
        let Step::Query(number) = call.step else {
            // Each request is a transaction of the server's.
            return answers.answer(ticket, Answer::Done(Reply::WRITTEN));
        };
        self.pool.submit(ticket, call.session, answers, |job: &mut Job| {
            job.query = number;
            job.arguments.clear();
            job.arguments.extend_from_slice(call.parameters.encoded());
        });
    }

    fn poll(&mut self, now: Nanos, answers: &mut dyn Answers) {
        self.pool.poll(now, answers);
    }

    fn wait(&mut self, timeout: Duration) {
        self.pool.wait(timeout);
    }

    fn abandon(&mut self, ticket: Ticket) {
        self.pool.abandon(ticket);
    }
}
