//! The URL of a YCSB binding, taken apart.

use std::path::PathBuf;

use assay_driver_kit::address::decode;
use assay_driver_kit::secrets::{Redaction, names_a_secret};
use assay_model::{Kind, closest};
use assay_store::{Calls, OpenError, ScanOrder};

/// Every option but properties, which begin with `p.`.
const KNOWN: [&str; 10] = [
    "classpath",
    "properties",
    "calls",
    "kinds",
    "scan",
    "updates",
    "persistent",
    "java",
    "bridge",
    "jvm",
];
const EXAMPLE: &str = "jvm:site.ycsb.BasicDB?p.basicdb.verbose=false&classpath=DIR/*:FILE.jar";
/// What the name of a property stands behind.
const PROPERTY: &str = "p.";

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
        let mut options = parse(url).map_err(|reason| OpenError::Url {
            url: displayed.clone(),
            reason: format!("{reason}; a right one is {EXAMPLE}"),
        })?;
        options.displayed = displayed;
        let display = |(name, value): &(String, String)| match names_a_secret(name) {
            true => format!("{name}=…"),
            false => format!("{name}={}", redaction.url(value)),
        };
        let properties: Vec<String> = options.properties.iter().map(display).collect();
        options.displayed_properties = properties.join(", ");
        let words: Vec<String> = options.machine.iter().map(|word| redaction.word(word)).collect();
        options.displayed_machine = words.join(" ");
        Ok(options)
    }
}

fn parse(url: &str) -> Result<Options, String> {
    let (_, rest) = url.split_once(':').unwrap_or((url, ""));
    let (class, query) = rest.split_once('?').unwrap_or((rest, ""));
    let mut options = Options {
        displayed: String::new(),
        displayed_properties: String::new(),
        displayed_machine: String::new(),
        class: class.into(),
        class_path: None,
        properties: Vec::new(),
        files: Vec::new(),
        calls: None,
        kinds: None,
        scan_order: ScanOrder::Own,
        keeps_other_fields: true,
        is_persistent: None,
        java: None,
        bridge: None,
        machine: Vec::new(),
    };
    check_class(class)?;
    let mut observed: Vec<&str> = Vec::new();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair
            .split_once('=')
            .ok_or_else(|| format!("option {pair:?} has no value; write {pair}=…"))?;
        let may_repeat = ["jvm", "properties"].contains(&name);
        if observed.contains(&name) && !may_repeat {
            return Err(format!("option {name:?} is there twice"));
        }
        observed.push(name);
        options.take(name, decode(value)?)?;
    }
    Ok(options)
}

impl Options {
    fn take(&mut self, name: &str, value: String) -> Result<(), String> {
        if let Some(property) = name.strip_prefix(PROPERTY) {
            self.properties.push((decode(property)?, value));
            return Ok(());
        }
        match name {
            "classpath" => self.class_path = Some(value),
            "properties" => self.files.push(value.into()),
            "calls" => {
                let words = [("inline", Calls::Inline), ("blocking", Calls::Blocking)];
                self.calls = Some(choose(name, &value, &words)?);
            }
            "kinds" => self.kinds = Some(kinds(&value)?),
            "scan" => {
                let words = [("own", ScanOrder::Own), ("key", ScanOrder::Key)];
                self.scan_order = choose(name, &value, &words)?;
            }
            "updates" => {
                let words = [("fields", true), ("record", false)];
                self.keeps_other_fields = choose(name, &value, &words)?;
            }
            "persistent" => {
                self.is_persistent =
                    Some(choose(name, &value, &[("true", true), ("false", false)])?);
            }
            "java" => self.java = Some(value.into()),
            "bridge" => self.bridge = Some(value.into()),
            "jvm" if value.starts_with('-') => self.machine.push(value),
            "jvm" => return Err(format!("option jvm is one such as -Xmx2g, not {value:?}")),
            other => return Err(unknown(other)),
        }
        Ok(())
    }
}

fn unknown(name: &str) -> String {
    match closest(name, KNOWN) {
        Some(near) => format!("there is no option {name:?}; did you mean {near:?}"),
        None => format!(
            "there is no option {name:?}; there are {}; a property of the binding is p.{name}=…",
            KNOWN.join(", ")
        ),
    }
}

fn choose<T: Copy>(name: &str, value: &str, words: &[(&str, T)]) -> Result<T, String> {
    let chosen = words.iter().find(|(word, _)| *word == value).map(|(_, chosen)| *chosen);
    chosen.ok_or_else(|| {
        let words: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        format!("option {name} is {}, not {value:?}", words.join(" or "))
    })
}

fn kinds(value: &str) -> Result<Vec<Kind>, String> {
    let kind = |word: &str| {
        let known = Kind::OF_RECORDS.into_iter().find(|kind| kind.name() == word);
        known.ok_or_else(|| {
            format!("option kinds is any of read,update,insert,scan,delete, not {word:?}")
        })
    };
    value.split(',').map(kind).collect()
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
