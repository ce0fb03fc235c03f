//! Requests that are no part of a run: tables made, looked at, removed.

use std::error::Error;
use std::future::Future;
use std::time::Duration;

use assay_driver_kit::StoreErrors;
use assay_store::OpenError;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, KeySchemaElement, KeyType,
    ScalarAttributeType, TableDescription, TableStatus,
};

use super::failure::{NO_TABLE, is_not_permitted, is_unconnected};
use super::options::Options;

/// How long a table may take to come or to go; the service needs some seconds.
const TABLE_TIMEOUT: Duration = Duration::from_secs(120);

/// How often a table that comes or goes is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// The attributes of the table of the note.
const NOTE_KEY: &str = "id";
const NOTE_ID: &str = "note";
const NOTE_TEXT: &str = "text";

/// A client with words for what goes wrong.
pub(super) struct AdminConnection<'a> {
    client: Client,
    options: &'a Options,
}

impl<'a> AdminConnection<'a> {
    pub(super) fn new(options: &'a Options) -> AdminConnection<'a> {
        AdminConnection { client: options.client(), options }
    }

    pub(super) fn into_client(self) -> Client {
        self.client
    }

    /// Makes sure that DynamoDB answers, and lets us.
    pub(super) async fn greet(&self) -> Result<(), OpenError> {
        self.call(self.client.list_tables().limit(1).send()).await.map(drop)
    }

    /// Makes sure that there is a table of records, and that it is as it must be.
    pub(super) async fn prepare(&self, name: &str) -> Result<(), OpenError> {
        let (key, content) = (&self.options.key, self.options.content);
        self.make(name, key, content.scalar()).await?;
        let table = self.describe(name).await?;
        let schema = table.as_ref().map_or(&[][..], TableDescription::key_schema);
        let [element] = schema else {
            return Err(self.options.contents(format!(
                "its table {name} has a key of {} attributes, not of one; choose another prefix",
                schema.len()
            )));
        };
        if element.attribute_name() != key {
            let other = element.attribute_name();
            let reason = format!("the key of its table {name} is {other:?}; say key={other}");
            return Err(self.options.contents(reason));
        }
        let definitions = table.as_ref().map_or(&[][..], TableDescription::attribute_definitions);
        let definition = definitions.iter().find(|definition| definition.attribute_name() == key);
        let kind = definition.map(AttributeDefinition::attribute_type);
        if kind == Some(&content.scalar()) {
            return Ok(());
        }
        let advice = match kind {
            Some(ScalarAttributeType::S) => "say columns=text",
            Some(ScalarAttributeType::B) => "say columns=bytes",
            _ => "choose another prefix",
        };
        let kind = kind.map_or("?", ScalarAttributeType::as_str);
        let reason = format!("the key of its table {name} is of type {kind}; {advice}");
        Err(self.options.contents(reason))
    }

    /// Makes a table with a key of one attribute, unless there is one, and waits until it is there.
    async fn make(
        &self,
        name: &str,
        key: &str,
        kind: ScalarAttributeType,
    ) -> Result<(), OpenError> {
        if self.describe(name).await?.is_none() {
            let unbuilt = |error: BuildError| self.options.failed(error.to_string());
            let element = KeySchemaElement::builder().attribute_name(key).key_type(KeyType::Hash);
            let definition = AttributeDefinition::builder().attribute_name(key);
            let create = self
                .client
                .create_table()
                .table_name(name)
                .key_schema(element.build().map_err(unbuilt)?)
                .attribute_definitions(definition.attribute_type(kind).build().map_err(unbuilt)?)
                .billing_mode(BillingMode::PayPerRequest);
            self.call(create.send()).await?;
        }
        self.wait_until(name, |table| {
            let status = table.and_then(TableDescription::table_status);
            matches!(status, Some(TableStatus::Active | TableStatus::Updating))
        })
        .await
    }

    /// Removes a table if there is one, and waits until it is gone.
    pub(super) async fn remove(&self, name: &str) -> Result<(), OpenError> {
        if self.describe(name).await?.is_none() {
            return Ok(());
        }
        self.call(self.client.delete_table().table_name(name).send()).await?;
        self.wait_until(name, |table| table.is_none()).await
    }

    /// What the service tells about a table; `None` if there is none.
    pub(super) async fn describe(&self, name: &str) -> Result<Option<TableDescription>, OpenError> {
        let requested = self.client.describe_table().table_name(name).send();
        let reported = self.in_time(requested).await?;
        match reported {
            Ok(reported) => Ok(reported.table),
            Err(error) if error.code() == Some(NO_TABLE) => Ok(None),
            Err(error) => Err(self.explain(&error)),
        }
    }

    async fn wait_until(
        &self,
        name: &str,
        done: impl Fn(Option<&TableDescription>) -> bool,
    ) -> Result<(), OpenError> {
        for _ in 0..TABLE_TIMEOUT.as_millis() / LOOK_EVERY.as_millis() {
            if done(self.describe(name).await?.as_ref()) {
                return Ok(());
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
        let timeout = TABLE_TIMEOUT.as_secs();
        Err(self.options.failed(format!(
            "its table {name} is still being created or deleted after {timeout} s"
        )))
    }

    /// The text in the table of the note.
    pub(super) async fn note(&self, table: &str) -> Result<Option<String>, OpenError> {
        let get = self.client.get_item().table_name(table).consistent_read(true);
        let get = get.key(NOTE_KEY, AttributeValue::S(NOTE_ID.into()));
        let got = match self.in_time(get.send()).await? {
            Err(error) if error.code() == Some(NO_TABLE) => return Ok(None),
            Err(error) => return Err(self.explain(&error)),
            Ok(got) => got,
        };
        let note = got.item.and_then(|mut item| item.remove(NOTE_TEXT));
        Ok(note.and_then(|note| note.as_s().ok().cloned()))
    }

    /// Keeps a text in the table of the note, which is made for it.
    pub(super) async fn keep_note(&self, table: &str, note: &str) -> Result<(), OpenError> {
        self.make(table, NOTE_KEY, ScalarAttributeType::S).await?;
        let text = |text: &str| AttributeValue::S(text.into());
        let put = self.client.put_item().table_name(table);
        let put = put.item(NOTE_KEY, text(NOTE_ID)).item(NOTE_TEXT, text(note));
        self.call(put.send()).await.map(drop)
    }

    async fn call<T, E>(
        &self,
        sent: impl Future<Output = Result<T, SdkError<E>>>,
    ) -> Result<T, OpenError>
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        self.in_time(sent).await?.map_err(|error| self.explain(&error))
    }

    async fn in_time<T>(&self, sent: impl Future<Output = T>) -> Result<T, OpenError> {
        let timeout = self.options.connect_timeout;
        tokio::time::timeout(timeout, sent).await.map_err(|_| {
            let millis = timeout.as_millis();
            self.options.unreachable(format!(
                "no answer came within {millis} ms: what listens there is frozen, or no DynamoDB; \
                 check host and port"
            ))
        })
    }

    fn explain<E>(&self, error: &SdkError<E>) -> OpenError
    where
        E: ProvideErrorMetadata + Error + 'static,
    {
        if let (SdkError::ServiceError(_), Some(code)) = (error, error.code()) {
            let reported =
                format!("it says: {} ({code})", error.message().unwrap_or("nothing more"));
            if is_not_permitted(code) {
                let reason = format!("{reported}; check access key, secret and region");
                return self.options.not_permitted(reason);
            }
            return self.options.failed(reported);
        }
        if is_unconnected(error) {
            let (why, is_https) = (innermost(error).to_string(), self.options.is_https());
            let advice = match why.contains("certificate") {
                true => "ca_file= names the authority that signed its certificate",
                false if is_https => "is it running? if it speaks no TLS, write dynamodb://",
                false => "is it running?",
            };
            return self.options.unreachable(format!("{why}; {advice}"));
        }
        self.options.unreachable(format!(
            "what answers is no DynamoDB, or hung up ({}); check host and port",
            innermost(error)
        ))
    }
}

/// What an error comes from, in its own words.
fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}
