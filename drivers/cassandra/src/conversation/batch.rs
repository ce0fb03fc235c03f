//! Several inserts as one request: a `BATCH` of prepared statements.
//!
//! It goes to a node that has the record of its first statement; that node writes the others to
//! those that have them.

use assay_driver_kit::task::{BatchOutcome, Completion, Gathering, RecordJob};
use assay_model::Kind;
use assay_store::{OwnedRequest, Request};
use scylla::statement::batch::{Batch, BatchStatement, BatchType};

use super::{Arguments, Cassandra, Conversation, Effort, check};
use crate::failure::{MALFORMED, RequestKind, failure};
use crate::options::Options;

/// What is gathered: reads cannot be.
pub(crate) fn gathering(options: &Options) -> Gathering {
    Gathering { most: options.batch, kinds: &[Kind::Insert] }
}

impl Cassandra {
    /// Carries out a batch. An invalid part is refused, and the others are sent without it.
    pub(super) async fn send_batch(
        &self,
        conversation: &Conversation,
        job: &mut RecordJob,
        effort: &mut Effort,
    ) -> Result<bool, Completion> {
        let table = job.table();
        let texts = self.plan.tables.get(usize::from(table)).ok_or(MALFORMED)?;
        let inserts: Vec<Request<'_>> = job.batch.iter().map(OwnedRequest::request).collect();
        let (mut statements, mut arguments) = (Vec::new(), Vec::new());
        for insert in &inserts {
            let right = check(insert, texts.content());
            let shape = right.and_then(|()| texts.shape(insert).ok_or(MALFORMED));
            let ending = match shape {
                Ok(shape) => {
                    let known = self.statement(conversation, table, shape, effort).await?;
                    statements.push(BatchStatement::from((*known).clone()));
                    arguments.push(Arguments(insert));
                    Completion::Done { found: true }
                }
                Err(ending) => ending,
            };
            job.outcomes.push(BatchOutcome { ending, rows_end: 0 });
        }
        if arguments.is_empty() {
            return Ok(true);
        }
        let options = &self.connector.options;
        let mut batch = Batch::new_with_statements(options.batch_type, statements);
        batch.set_consistency(options.write);
        batch.set_is_idempotent(false);
        effort.requests += 1;
        let answered = conversation.session.batch(&batch, arguments).await;
        let requested = match options.batch_type {
            BatchType::Logged => RequestKind::Logged,
            BatchType::Unlogged | BatchType::Counter => RequestKind::Unlogged,
        };
        let result = answered.map_err(|error| failure(&error, requested))?;
        self.note(&result, effort);
        Ok(true)
    }
}
