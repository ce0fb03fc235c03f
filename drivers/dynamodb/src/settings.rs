//! Settings of a table that a reader of its figures must know.

use assay_model::Setting;
use aws_sdk_dynamodb::types::{BillingMode, TableDescription};

use super::options::Options;

/// The region in the names that DynamoDB Local gives to its tables.
const LOCAL: &str = ":ddblocal:";

/// Everything worth knowing; `table` is one of those that are measured, if there is one.
pub(super) fn settings(options: &Options, table: Option<&TableDescription>) -> Vec<Setting> {
    let name = table.and_then(TableDescription::table_arn);
    let mut settings = vec![server(name), durability(name)];
    settings.push(match options.is_consistent {
        true => Setting::new("consistent_read", "on", "a read sees every write answered before it"),
        false => Setting::new(
            "consistent_read",
            "off",
            "a read may miss writes answered shortly before it, for half the price",
        ),
    });
    if let Some(table) = table {
        settings.push(capacity(table));
        settings.push(Setting::new(
            "replicas",
            table.replicas().len().to_string(),
            "other regions that the table is copied to, after a write is answered",
        ));
    }
    settings.push(Setting::new(
        "connections",
        options.connections.to_string(),
        "per worker, each with one request at a time; the wait for one counts as lag",
    ));
    settings.push(Setting::new(
        "client",
        "AWS SDK for Rust, retries off",
        "what it costs the client to sign and to read JSON is in every latency",
    ));
    settings
}

fn server(name: Option<&str>) -> Setting {
    match name {
        Some(name) if name.contains(LOCAL) => Setting::new(
            "server",
            "DynamoDB Local",
            "a stand-in: one process with SQLite behind it; its figures say nothing of DynamoDB",
        ),
        Some(name) => Setting::new("server", name, "the table that was measured"),
        None => Setting::new("server", "unknown", "unknown until there is a table"),
    }
}

fn durability(name: Option<&str>) -> Setting {
    match name {
        Some(name) if name.contains(LOCAL) => Setting::new(
            "durability",
            "unknown",
            "DynamoDB Local keeps everything in memory or in one file, as it was started; it does \
             not tell which",
        ),
        Some(_) => Setting::new(
            "durability",
            "every write",
            "by its maker's word a write is on disks in several zones before it is answered",
        ),
        None => Setting::new("durability", "unknown", "unknown until there is a table"),
    }
}

fn capacity(table: &TableDescription) -> Setting {
    let mode = table.billing_mode_summary().and_then(|summary| summary.billing_mode());
    if mode == Some(&BillingMode::PayPerRequest) {
        return Setting::new(
            "capacity",
            "on demand",
            "beyond its present size, requests are throttled",
        );
    }
    let units = table.provisioned_throughput().map_or((0, 0), |units| {
        (units.read_capacity_units().unwrap_or(0), units.write_capacity_units().unwrap_or(0))
    });
    Setting::new(
        "capacity",
        format!("{} reads, {} writes", units.0, units.1),
        "units per second: one reads 4 KiB consistently, or writes 1 KiB; beyond that requests are \
         busy",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server_of(arn: &str) -> String {
        let options = Options::parse("dynamodb://localhost?consistent_read=off").unwrap();
        let table = TableDescription::builder().table_arn(arn).build();
        let settings = settings(&options, Some(&table));
        assert_eq!(settings[2].value, "off");
        settings[0].value.clone()
    }

    #[test]
    fn the_stand_in_is_distinguished_from_the_service() {
        let local = "arn:aws:dynamodb:ddblocal:000000000000:table/usertable";
        assert_eq!(server_of(local), "DynamoDB Local");
        let real = "arn:aws:dynamodb:eu-west-1:123456789012:table/usertable";
        assert_eq!(server_of(real), real);
    }

    #[test]
    fn without_a_table_nothing_is_claimed() {
        let options = Options::parse("dynamodb://localhost").unwrap();
        let settings = settings(&options, None);
        assert_eq!((&*settings[0].value, &*settings[1].value), ("unknown", "unknown"));
        assert!(settings.iter().all(|setting| !setting.meaning.is_empty()));
    }
}
