//! One connection, which carries out one request for records at a time.

use std::sync::Arc;

use assay_driver_kit::StoreErrors;
use assay_driver_kit::task::{Context, JobCompletion, Library, Lost, RecordJob, completion};
use assay_model::{Fields, Kind, Layout, Reason};
use assay_store::{OpenError, Request, Values};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::ProvideErrorMetadata;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};

use super::admin::AdminConnection;
use super::content::{Item, LARGEST_ITEM, encode};
use super::failure::{CONDITION_FAILED, Failure, failure};
use super::options::{Options, is_allowed};

/// The tables that were prepared, by number.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) tables: Vec<Table>,
}

/// A table of records.
pub(super) struct Table {
    /// With the prefix.
    pub(super) name: String,
    /// The attributes of the fields, by number.
    fields: Vec<String>,
}

impl Table {
    fn field(&self, number: u16) -> Result<&str, Failure> {
        let name = self.fields.get(usize::from(number));
        name.map(String::as_str).ok_or(Failure::refused(Reason::Malformed))
    }
}

impl Plan {
    /// The tables of `layout`.
    ///
    /// # Errors
    /// If DynamoDB cannot have such names.
    pub(super) fn of(layout: &Layout, options: &Options) -> Result<Plan, OpenError> {
        if layout.tables.iter().any(|table| table.needs_key_order) {
            return Err(options.unsupported(
                "its scans come by the hash of the key; queries by way of a mapping look for their \
                 rows by ranges of keys: take another store for them",
            ));
        }
        let mut tables = Vec::with_capacity(layout.tables.len());
        for table in &layout.tables {
            let name = options.table(&table.name);
            if !(3..=255).contains(&name.len()) || !name.chars().all(is_allowed) {
                return Err(options.unsupported(format!(
                    "a table's name has 3 to 255 letters, digits, _ - . but not {name:?}; put a \
                     prefix behind the slash of the URL, or rename the table"
                )));
            }
            if table.fields.contains(&options.key) {
                let key = &options.key;
                return Err(options.unsupported(format!(
                    "{key} is both the key's attribute and a field of {name}; say key=…"
                )));
            }
            tables.push(Table { name, fields: table.fields.clone() });
        }
        Ok(Plan { tables })
    }
}

/// The library, as a pool of connections needs it.
pub(super) struct Link {
    pub(super) options: Arc<Options>,
    pub(super) plan: Arc<Plan>,
}

/// What a request came to, or why not.
type Came = Result<bool, Failure>;

impl Library for Link {
    type Connection = Client;
    type Job = RecordJob;

    async fn connect(&self) -> Result<Client, OpenError> {
        let admin = AdminConnection::new(&self.options);
        admin.greet().await?;
        Ok(admin.into_client())
    }

    async fn perform(
        &self,
        client: &mut Client,
        job: &mut RecordJob,
        rows: &mut Vec<u8>,
    ) -> JobCompletion {
        let request = job.request.request();
        let mut requests = 0;
        let Some(table) = self.plan.tables.get(usize::from(request.table)) else {
            return completion(Err(Failure::refused(Reason::Malformed)), Context::Alone);
        };
        let mut requested =
            PendingRequest { link: self, client, table, request, requests: &mut requests };
        let came = match request.kind {
            Kind::Read => requested.read(rows).await,
            Kind::Insert => requested.insert().await,
            Kind::Update => requested.update().await,
            Kind::Delete => requested.delete().await,
            Kind::Scan => requested.scan(rows).await,
            Kind::Commit | Kind::Rollback => Err(Failure::refused(Reason::Unsupported)),
        };
        if came.is_err() {
            rows.clear();
        }
        JobCompletion { requests: requests.max(1), ..completion(came, Context::Alone) }
    }

    /// There are no transactions.
    async fn undo(&self, _client: &mut Client) -> Result<(), Lost> {
        Ok(())
    }
}

/// A request under way.
struct PendingRequest<'a> {
    link: &'a Link,
    client: &'a Client,
    table: &'a Table,
    request: Request<'a>,
    /// How many requests it took.
    requests: &'a mut u16,
}

impl PendingRequest<'_> {
    fn key_name(&self) -> &str {
        &self.link.options.key
    }

    fn key(&self) -> Result<AttributeValue, Failure> {
        self.link.options.content.key(self.request.key).map_err(Failure::refused)
    }

    fn value(&self, value: &[u8]) -> Result<AttributeValue, Failure> {
        self.link.options.content.value(value).map_err(Failure::refused)
    }

    /// Counts a request that is about to be sent.
    fn count(&mut self) {
        *self.requests = self.requests.saturating_add(1);
    }

    /// The attribute that a read of one field projects.
    fn expected(&self) -> Result<Option<&str>, Failure> {
        match self.request.fields {
            Fields::One(number) => self.table.field(number).map(Some),
            Fields::All | Fields::Named => Ok(None),
        }
    }

    async fn read(&mut self, rows: &mut Vec<u8>) -> Came {
        let key = self.key()?;
        let mut get = self.client.get_item().table_name(&self.table.name);
        get = get.key(self.key_name(), key).consistent_read(self.link.options.is_consistent);
        if let Some(name) = self.expected()? {
            get = get.projection_expression("#f").expression_attribute_names("#f", name);
        }
        self.count();
        let got = get.send().await.map_err(|error| failure(&error))?;
        let Some(item) = got.item else { return Ok(false) };
        self.keep(item, rows)?;
        Ok(true)
    }

    /// Appends the fields of `item` that are requested.
    fn keep(&self, mut item: Item, rows: &mut Vec<u8>) -> Result<(), Failure> {
        if self.request.fields == Fields::Named {
            item.retain(|name, _| self.table.fields.contains(name));
        }
        let encoded = encode(&item, self.key_name(), rows);
        encoded.map_err(Failure::refused)
    }

    /// Refuses what is certainly larger than an item can be.
    fn check_size(&self, values: &Values<'_>) -> Result<(), Failure> {
        let mut bytes = self.key_name().len() + self.request.key.len();
        for (number, value) in values.iter() {
            bytes += self.table.field(number)?.len() + value.len();
        }
        if bytes > LARGEST_ITEM {
            return Err(Failure::refused(Reason::Malformed));
        }
        Ok(())
    }

    async fn insert(&mut self) -> Came {
        let values = self.request.values;
        self.check_size(&values)?;
        let mut item = Item::with_capacity(values.len() + 1);
        for (number, value) in values.iter() {
            item.insert(self.table.field(number)?.into(), self.value(value)?);
        }
        item.insert(self.key_name().into(), self.key()?);
        let put = self.client.put_item().table_name(&self.table.name).set_item(Some(item));
        self.count();
        put.send().await.map_err(|error| failure(&error))?;
        Ok(true)
    }

    async fn update(&mut self) -> Came {
        let values = self.request.values;
        if values.is_empty() {
            return Err(Failure::refused(Reason::Malformed));
        }
        self.check_size(&values)?;
        let mut update = self.client.update_item().table_name(&self.table.name);
        let mut text = String::from("SET ");
        for (place, (number, value)) in values.iter().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            text.push_str(&format!("{comma}#{place} = :{place}"));
            update = update
                .expression_attribute_names(format!("#{place}"), self.table.field(number)?)
                .expression_attribute_values(format!(":{place}"), self.value(value)?);
        }
        let update = update
            .key(self.key_name(), self.key()?)
            .update_expression(text)
            .expression_attribute_names("#k", self.key_name())
            .condition_expression("attribute_exists(#k)");
        self.count();
        match update.send().await {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(CONDITION_FAILED) => Ok(false),
            Err(error) => Err(failure(&error)),
        }
    }

    async fn delete(&mut self) -> Came {
        let key = self.key()?;
        let delete = self.client.delete_item().table_name(&self.table.name);
        let delete = delete.key(self.key_name(), key).return_values(ReturnValue::AllOld);
        self.count();
        let deleted = delete.send().await.map_err(|error| failure(&error))?;
        Ok(deleted.attributes.is_some())
    }

    /// DynamoDB scans from behind a key, so the record that the scan starts at is read first.
    async fn scan(&mut self, rows: &mut Vec<u8>) -> Came {
        let limit = self.request.limit;
        let mut left = limit.saturating_sub(u32::from(self.read(rows).await?));
        let mut from = Some(Item::from([(self.key_name().to_owned(), self.key()?)]));
        while left > 0 && from.is_some() {
            let mut scan = self.client.scan().table_name(&self.table.name);
            scan = scan.limit(i32::try_from(left).unwrap_or(i32::MAX));
            scan = scan.consistent_read(self.link.options.is_consistent);
            scan = scan.set_exclusive_start_key(from.take());
            if let Some(name) = self.expected()? {
                scan = scan.projection_expression("#f").expression_attribute_names("#f", name);
            }
            self.count();
            let page = scan.send().await.map_err(|error| failure(&error))?;
            for item in page.items.unwrap_or_default().into_iter().take(left as usize) {
                self.keep(item, rows)?;
                left -= 1;
            }
            from = page.last_evaluated_key;
        }
        Ok(left < limit)
    }
}
