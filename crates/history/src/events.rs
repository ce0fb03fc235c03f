//! Events of the run as a whole, as `events.parquet`.

use std::path::Path;

use assay_model::Event;
use parquet::errors::ParquetError;

use crate::table::TableError;
use crate::table::row::{self, table_row};
use crate::{place, table};

table_row! {
    Event as "event" {
        at => "at",
        kind => "kind",
        text => "text",
    }
}

/// Writes the events of the run directory `dir`, replacing earlier ones.
///
/// # Errors
/// If the disk does not take them; earlier ones then stay.
pub fn write_events(dir: &Path, events: &[Event]) -> Result<(), TableError> {
    table::replace_listed(place::events(dir), |path| row::write(path, events))
}

/// Reads the events of the run directory `dir`; a run directory without the file has none.
///
/// # Errors
/// If the file is damaged or holds kinds that this release does not know.
pub fn read_events(dir: &Path) -> Result<Vec<Event>, TableError> {
    let advice = "; copy it again, or remove it and go without events";
    table::read_listed(place::events(dir), advice, row::read).map(Option::unwrap_or_default)
}

#[cfg(test)]
mod tests {
    use assay_model::{EventKind, Nanos};

    use super::*;
    use crate::samples::tempdir;

    fn event(at: u64, kind: EventKind, text: &str) -> Event {
        Event { at: Nanos(at), kind, text: text.to_owned() }
    }

    #[test]
    fn events_come_back() {
        let dir = tempdir("events");
        let events = vec![
            event(0, EventKind::Phase, "warm-up begins"),
            event(7, EventKind::Fault, "kill -9 of node 2: \"größer\""),
            event(9, EventKind::Change, ""),
            event(u64::MAX, EventKind::Warning, "clock jumped"),
        ];
        write_events(&dir, &events).unwrap();
        assert_eq!(read_events(&dir).unwrap(), events);
        write_events(&dir, &[]).unwrap();
        assert_eq!(read_events(&dir).unwrap(), []);
    }

    #[test]
    fn a_run_directory_without_events_has_none() {
        assert_eq!(read_events(&tempdir("no-events")).unwrap(), []);
    }

    #[test]
    fn truncated_events_are_an_error_that_names_the_file() {
        let dir = tempdir("torn-events");
        write_events(&dir, &[event(1, EventKind::Phase, "x")]).unwrap();
        let path = place::events(&dir);
        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() - 9]).unwrap();
        let error = read_events(&dir).unwrap_err().to_string();
        assert!(error.contains("events.parquet"), "{error}");
    }

    #[test]
    fn a_changed_bit_is_an_error() {
        let dir = tempdir("events-bits");
        let events = [event(7, EventKind::Fault, "kill node 2"), event(9, EventKind::Change, "")];
        write_events(&dir, &events).unwrap();
        let path = place::events(&dir);
        let bytes = std::fs::read(&path).unwrap();
        for bit in (0..8 * bytes.len()).step_by(7) {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            std::fs::write(&path, &changed).unwrap();
            assert!(read_events(&dir).is_err(), "bit {bit}");
        }
    }

    #[test]
    fn events_that_are_gone_are_missed_but_not_in_an_older_run_directory() {
        let dir = tempdir("events-gone");
        write_events(&dir, &[event(1, EventKind::Phase, "x")]).unwrap();
        std::fs::remove_file(place::events(&dir)).unwrap();
        let error = read_events(&dir).unwrap_err().to_string();
        assert!(error.contains("it is listed and missing"), "{error}");
        std::fs::remove_file(dir.join("tables.sum")).unwrap();
        assert_eq!(read_events(&dir).unwrap(), []);
    }
}
