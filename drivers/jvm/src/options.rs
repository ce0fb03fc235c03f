//! The URL of a YCSB binding, taken apart.

use std::path::PathBuf;

use assay_driver_kit::secrets::Redaction;
use assay_driver_kit::url_options;
use assay_model::Kind;
use assay_store::{Calls, OpenError, ScanOrder};
use serde::Deserialize;

const EXAMPLE: &str = "jvm:site.ycsb.BasicDB?p.basicdb.verbose=false&classpath=DIR/*:FILE.jar";

/// `jvm:CLASS?classpath=…&p.NAME=VALUE&…` in its parts.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Options {
    /// The URL without secrets.
    pub(super) displayed: String,
    /// The properties in one line without secrets; empty if there are none.
    pub(super) displayed_properties: String,
    /// What the virtual machine is given, in one line without secrets; empty if there is nothing.
    pub(super) displayed_machine: String,
    /// The binding's class, package included.
    pub(super) class: String,
    /// Where classes are, as it was written; without it they are those of our own Java part.
    pub(super) class_path: Option<String>,
    /// Names and values that the binding is given, the later ones stronger.
    pub(super) properties: Vec<(String, String)>,
    /// Files of properties, weaker than those above.
    pub(super) files: Vec<PathBuf>,
    pub(super) calls: Option<Calls>,
    pub(super) kinds: Option<Vec<Kind>>,
    pub(super) scan_order: ScanOrder,
    pub(super) keeps_other_fields: bool,
    pub(super) is_persistent: Option<bool>,
    /// Where Java is.
    pub(super) java: Option<PathBuf>,
    /// Where our own Java part is.
    pub(super) bridge: Option<PathBuf>,
    /// Options of the virtual machine.
    pub(super) machine: Vec<String>,
}

impl Options {
    /// Takes `url` apart.
    ///
    /// # Errors
    /// If it names no class, or an option is invalid.
    pub(super) fn parse(url: &str, redaction: &Redaction) -> Result<Options, OpenError> {
        let displayed = redaction.url(url);
        let options = parse(url, redaction).map_err(|reason| OpenError::Url {
            url: displayed.clone(),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })?;
        Ok(Options { displayed, ..options })
    }
}

/// The options as the URL has them, but properties, which begin with `p.`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UrlOptions {
    classpath: Option<String>,
    #[serde(default)]
    properties: Vec<PathBuf>,
    calls: Option<CallsWord>,
    kinds: Option<Kinds>,
    scan: Option<ScanWord>,
    updates: Option<UpdatesWord>,
    persistent: Option<bool>,
    java: Option<PathBuf>,
    bridge: Option<PathBuf>,
    #[serde(default)]
    jvm: Vec<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum CallsWord {
    Inline,
    Blocking,
}

/// Kinds of operations, with commas between them.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Kinds(Vec<Kind>);

impl TryFrom<String> for Kinds {
    type Error = String;

    fn try_from(words: String) -> Result<Kinds, String> {
        let kind = |word: &str| {
            let known = Kind::OF_RECORDS.into_iter().find(|kind| kind.name() == word);
            known.ok_or_else(|| format!("is any of read,update,insert,scan,delete, not {word:?}"))
        };
        words.split(',').map(kind).collect::<Result<_, String>>().map(Kinds)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum ScanWord {
    Own,
    Key,
}

/// What an update writes.
#[derive(PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum UpdatesWord {
    Fields,
    Record,
}

fn parse(url: &str, redaction: &Redaction) -> Result<Options, String> {
    let (_, rest) = url.split_once(':').unwrap_or((url, ""));
    let (class, query) = rest.split_once('?').unwrap_or((rest, ""));
    check_class(class)?;
    let what = "a property of the binding";
    let (declared, properties) = url_options::declared_and_handed_on::<UrlOptions>(query, what)?;
    if let Some(word) = declared.jvm.iter().find(|word| !word.starts_with('-')) {
        return Err(format!("option jvm is one such as -Xmx2g, not {word:?}"));
    }
    let machine = declared.jvm.iter().map(|word| redaction.word(word)).collect::<Vec<_>>();
    Ok(Options {
        displayed: String::new(),
        displayed_properties: redaction.pairs(&properties),
        displayed_machine: machine.join(" "),
        class: class.into(),
        class_path: declared.classpath,
        properties,
        files: declared.properties,
        calls: declared.calls.map(|calls| match calls {
            CallsWord::Inline => Calls::Inline,
            CallsWord::Blocking => Calls::Blocking,
        }),
        kinds: declared.kinds.map(|Kinds(kinds)| kinds),
        scan_order: match declared.scan {
            Some(ScanWord::Key) => ScanOrder::Key,
            Some(ScanWord::Own) | None => ScanOrder::Own,
        },
        keeps_other_fields: declared.updates != Some(UpdatesWord::Record),
        is_persistent: declared.persistent,
        java: declared.java,
        bridge: declared.bridge,
        machine: declared.jvm,
    })
}

fn check_class(class: &str) -> Result<(), String> {
    let is_name = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|first| first.is_alphabetic() || "_$".contains(first))
            && letters.all(|letter| letter.is_alphanumeric() || "_$".contains(letter))
    };
    match class {
        "" => Err("it names no class".into()),
        class if class.split('.').all(is_name) => Ok(()),
        class => Err(format!("{class:?} is no name of a Java class")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(url: &str) -> Result<Options, OpenError> {
        Options::parse(url, &Redaction::PROCESS)
    }

    fn complaint(url: &str) -> String {
        parsed(url).expect_err("the URL is wrong").to_string()
    }

    #[test]
    fn a_url_is_parsed_into_its_parts() {
        let options = parsed(
            "jvm:site.ycsb.db.MongoDbClient?classpath=lib/*:more.jar&p.mongodb.url=mongodb%3A//h\
             &p.mongodb.x=a=b&calls=inline&kinds=read,scan&scan=key&updates=record\
             &persistent=false&java=/opt/java&bridge=/opt/assay-jvm&jvm=-Xmx2g&jvm=-Da=b\
             &properties=a.properties",
        );
        let options = options.expect("the URL is right");
        assert_eq!(options.class, "site.ycsb.db.MongoDbClient");
        assert_eq!(options.class_path.as_deref(), Some("lib/*:more.jar"));
        let pairs = [("mongodb.url", "mongodb://h"), ("mongodb.x", "a=b")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(options.properties, pairs);
        assert_eq!(options.calls, Some(Calls::Inline));
        assert_eq!(options.kinds, Some(vec![Kind::Read, Kind::Scan]));
        assert_eq!(options.scan_order, ScanOrder::Key);
        assert!(!options.keeps_other_fields);
        assert_eq!(options.is_persistent, Some(false));
        assert_eq!(options.java, Some("/opt/java".into()));
        assert_eq!(options.bridge, Some("/opt/assay-jvm".into()));
        assert_eq!(options.machine, ["-Xmx2g", "-Da=b"]);
        assert_eq!(options.files, [PathBuf::from("a.properties")]);
    }

    #[test]
    fn a_wrong_url_says_what_is_wrong() {
        for (url, reported) in [
            ("jvm:", "it names no class; a right one is jvm:site.ycsb.BasicDB?"),
            ("jvm", "it names no class"),
            ("jvm://localhost", "\"//localhost\" is no name of a Java class"),
            ("jvm:site/ycsb/BasicDB", "is no name of a Java class"),
            ("jvm:a.B?claspath=x", "no option \"claspath\"; did you mean \"classpath\""),
            ("jvm:a.B?basicdb.verbose=x", "a property of the binding is p.basicdb.verbose=…"),
            ("jvm:a.B?calls=fast", "option calls is inline or blocking, not \"fast\""),
            ("jvm:a.B?kinds=read,fly", "option kinds is any of read,update,insert,scan,delete"),
            ("jvm:a.B?jvm=Xmx2g", "option jvm is one such as -Xmx2g, not \"Xmx2g\""),
            ("jvm:a.B?calls", "option \"calls\" has no value; write calls=…"),
            ("jvm:a.B?p.a=1&p.a=2", "option \"p.a\" is there twice"),
            ("jvm:a.B?p.a=%zz", "a % is not followed by two hexadecimal digits"),
        ] {
            assert!(complaint(url).contains(reported), "{url}: {}", complaint(url));
        }
    }

    #[test]
    fn secrets_do_not_show() {
        let url = "jvm:a.B?p.db.passwd=s3cret&p.db.user=me&calls=fast";
        assert!(!complaint(url).contains("s3cret"), "{}", complaint(url));
        let options = parsed("jvm:a.B?p.db.passwd=s3cret&p.db.user=me");
        let options = options.expect("the URL is right");
        assert_eq!(options.displayed, "jvm:a.B?p.db.passwd=…&p.db.user=me");
        assert_eq!(options.displayed_properties, "db.passwd=…, db.user=me");
        for encoded in ["mongodb://me:s3cret@h/ycsb", "mongodb%3A%2F%2Fme%3As3cret%40h%2Fycsb"] {
            let url = format!("jvm:a.B?p.mongodb.url={encoded}&jvm=-Dkey.password=s3cret");
            let options = parsed(&url).expect("the URL is right");
            assert_eq!(
                options.displayed,
                "jvm:a.B?p.mongodb.url=mongodb://…@h/ycsb&jvm=-Dkey.password=…"
            );
            assert_eq!(options.displayed_properties, "mongodb.url=mongodb://…@h/ycsb");
            assert_eq!(options.displayed_machine, "-Dkey.password=…");
        }
    }
}
