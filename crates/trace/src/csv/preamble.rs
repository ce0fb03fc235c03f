//! The lines before the columns that give a trace of queries its texts.

use std::io::{self, BufRead, Write};

use assay_model::Named;

use super::ImportError;
use super::record::{LONGEST_RECORD, Records, fields, quote};
use crate::header::Header;
use crate::script::{Origins, Script};

/// Writes what the operations' numbers stand for, one fact per line.
pub(super) fn write(header: &Header, script: &Script, into: &mut impl Write) -> io::Result<()> {
    writeln!(into, "#width,{}", header.width)?;
    for name in &header.transaction_types {
        writeln!(into, "#transaction_type,{}", quote(name))?;
    }
    let lists =
        [("ddl", &script.ddl), ("query", &script.queries), ("property", &script.properties)];
    for (word, list) in lists {
        for Named { name, text } in list {
            writeln!(into, "#{word},{},{}", quote(name), quote(text))?;
        }
    }
    for hint in &script.hints {
        writeln!(into, "#hint,{}", quote(hint))?;
    }
    if script.origins == Origins::Kept {
        writeln!(into, "#origins,kept")?;
    }
    Ok(())
}

/// Reads lines of [`write()`] up to the line that names the columns, which it gives back.
pub(super) fn read(
    records: &mut Records<impl BufRead>,
    header: &mut Header,
) -> Result<String, ImportError> {
    let mut script = Script::default();
    let mut transaction_types = Vec::new();
    let mut width = None;
    loop {
        let record = records.read(LONGEST_RECORD)?.unwrap_or_default().to_owned();
        let Some(fact) = record.strip_prefix('#') else {
            if let Some(width) = width {
                header.width = width;
                header.transaction_types = transaction_types;
                header.layout.tables.clear();
                header.script = Some(script);
            }
            return Ok(record);
        };
        let line = records.line;
        let wrong = |reason: String| ImportError::Line { line, reason };
        let fields = fields(fact).map_err(wrong)?;
        let texts: Vec<&str> = fields.iter().map(String::as_str).collect();
        match texts[..] {
            ["width", number] => {
                let number = number.parse();
                width = Some(number.map_err(|_| wrong("the width is no number".to_owned()))?);
            }
            ["transaction_type", name] => transaction_types.push(name.to_owned()),
            ["hint", text] => script.hints.push(text.to_owned()),
            ["origins", "kept"] => script.origins = Origins::Kept,
            [word @ ("ddl" | "query" | "property"), name, text] => {
                let named = Named { name: name.to_owned(), text: text.to_owned() };
                match word {
                    "ddl" => script.ddl.push(named),
                    "query" => script.queries.push(named),
                    _ => script.properties.push(named),
                }
            }
            _ => {
                return Err(wrong(format!(
                    "#{fact} is none of #width, #transaction_type, #ddl, #query, #property, #hint, \
                     #origins with their values"
                )));
            }
        }
    }
}
