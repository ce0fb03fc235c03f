//! The URL of a YCSB Java binding, made of what is said about it elsewhere.

use std::collections::BTreeMap;

use assay_drivers::registry;
use assay_model::percent_encoded;
use assay_workload::Spec;
use assay_workload::spec::FieldLength;

/// What the URL of a Java binding begins with.
const SCHEME: &str = "jvm:";
/// YCSB's default, which its bindings have too.
const USUAL_FIELD_BYTES: u64 = 100;

/// `url` with these properties handed on, if it names a Java binding; those that it names itself
/// are stronger. Other stores have no use for them, which is said.
pub fn with_properties(url: String, properties: &BTreeMap<String, String>) -> String {
    if !is_java(&url) {
        for name in properties.keys() {
            eprintln!("warning: {name} speaks to a YCSB binding; here -t URL names the store");
        }
        return url;
    }
    let query = url.split_once('?').map_or("", |(_, query)| query);
    let is_named = |name: &str| {
        let begin = format!("p.{name}=");
        query.split('&').any(|pair| pair.starts_with(&begin))
    };
    let new = properties.iter().filter(|(name, _)| !is_named(name));
    let pairs = new.map(|(name, value)| format!("p.{name}={}", percent_encoded(value))).collect();
    with_options(url, pairs)
}

/// What a workload says of its records that no layout has and bindings size their stores by, where
/// it is not what they take it for.
pub fn sizes(spec: &Spec) -> BTreeMap<String, String> {
    let FieldLength::Constant(bytes) = spec.dataset.field_length else { return BTreeMap::new() };
    let usual = bytes == USUAL_FIELD_BYTES;
    let pairs = (!usual).then(|| ("fieldlength".to_owned(), bytes.to_string()));
    pairs.into_iter().collect()
}

/// Whether a store is driven through a Java binding.
pub fn is_java(url: &str) -> bool {
    url.starts_with(SCHEME)
}

/// The URL of the binding `class`, as YCSB's launcher would start it.
pub fn url(class: &str, class_path: &[String], machine: &[String]) -> String {
    let mut options = Vec::new();
    if !class_path.is_empty() {
        options.push(format!("classpath={}", percent_encoded(&class_path.join(":"))));
    }
    let words = machine.iter().flat_map(|words| words.split_whitespace());
    options.extend(words.map(|word| format!("jvm={}", percent_encoded(word))));
    with_options(format!("{SCHEME}{class}"), options)
}

/// Whether YCSB's launcher would take this for a class instead of a binding's short name. A URL
/// with a login is none, whatever its host is called.
pub fn is_class(binding: &str) -> bool {
    binding.contains('.') && !binding.contains('@')
}

fn with_options(url: String, options: Vec<String>) -> String {
    if options.is_empty() {
        return url;
    }
    let mark = if url.contains('?') { '&' } else { '?' };
    format!("{url}{mark}{}", options.join("&"))
}

/// An argument of a command line as run directories keep it: without secrets.
pub fn redacted(word: &str) -> String {
    registry::word_without_secrets(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn properties_go_into_the_url_unless_it_names_them() {
        let given = properties(&[("basicdb.verbose", "false"), ("a.b", "x&y=z")]);
        assert_eq!(
            with_properties("jvm:a.B?p.a.b=1".into(), &given),
            "jvm:a.B?p.a.b=1&p.basicdb.verbose=false"
        );
        assert_eq!(
            with_properties("jvm:a.B".into(), &given),
            "jvm:a.B?p.a.b=x%26y%3Dz&p.basicdb.verbose=false"
        );
        assert_eq!(with_properties("memory:".into(), &given), "memory:");
    }

    #[test]
    fn a_class_becomes_a_url() {
        assert_eq!(url("site.ycsb.BasicDB", &[], &[]), "jvm:site.ycsb.BasicDB");
        assert_eq!(
            url("a.B", &["lib/*".into(), "c.jar".into()], &["-Xmx1g -Xms1g".into()]),
            "jvm:a.B?classpath=lib%2F%2A%3Ac.jar&jvm=-Xmx1g&jvm=-Xms1g"
        );
        assert!(is_class("site.ycsb.BasicDB") && !is_class("basic"));
    }

    #[test]
    fn secrets_of_a_command_line_are_not_kept() {
        for (word, kept) in [
            ("--password=x", "--password=…"),
            ("--password-file=f", "--password-file=f"),
            ("redis.password=x", "redis.password=…"),
            ("db.passwd=x", "db.passwd=…"),
            ("-t=redis://u:p@h", "-t=redis://…@h"),
            ("jvm:a.B?p.db.passwd=x&p.c=d", "jvm:a.B?p.db.passwd=…&p.c=d"),
            ("recordcount=5", "recordcount=5"),
        ] {
            assert_eq!(redacted(word), kept);
        }
    }
}
