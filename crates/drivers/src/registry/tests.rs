//! URLs in, stores or complaints out.

use assay_model::Seed;

use super::*;

const OPTIONS: Options = Options { clock: || 0, seed: Seed(1), surroundings: Surroundings::NONE };

fn complaint(url: &str) -> String {
    open(url, &OPTIONS).err().expect("the store must not open").to_string()
}

#[test]
fn a_scheme_chooses_its_store() {
    for (url, name) in
        [("null:", "null"), ("null:?spin=5us", "null"), ("memory:", "memory"), ("memory", "memory")]
    {
        assert_eq!(open(url, &OPTIONS).unwrap().capabilities().name, name, "{url}");
    }
}

#[test]
fn the_spin_is_what_the_url_says() {
    let spin = |url| open(url, &OPTIONS).unwrap().settings().unwrap()[0].value.clone();
    assert_eq!(spin("null:"), "0 ns");
    assert_eq!(spin("null:?spin=500ns"), "500 ns");
    assert_eq!(spin("null:?spin=1.5us"), "1.50 µs");
    assert_eq!(spin("null:?spin=2ms"), "2.00 ms");
}

#[test]
fn wrong_urls_say_what_a_right_one_looks_like() {
    for (url, reported) in [
        ("memroy:", "there is no store \"memroy\"; did you mean memory:?"),
        ("null:?spin=5", "spin is \"5\"; write it as 500ns, 5us or 2ms"),
        ("null:?spin=-5us", "spin is \"-5us\"; write it as 500ns, 5us or 2ms"),
        ("null:?spin=2h", "spin is \"2h\"; write it as 500ns, 5us or 2ms"),
        ("null:?nap=5us", "its only option is spin; write null:?spin=5us"),
        ("memory:path", "it has no path or options; write memory:"),
    ] {
        assert!(complaint(url).contains(reported), "{url}: {}", complaint(url));
    }
    assert!(complaint("voldemort://h").contains("there is no store \"voldemort\"; there are"));
}

#[test]
fn a_password_in_an_unknown_url_is_not_repeated() {
    let reported = complaint("postgrse://user:s3cret@host:5432/db");
    assert!(!reported.contains("s3cret"), "{reported}");
    assert!(reported.contains("postgrse://…@host:5432/db"), "{reported}");
}

#[test]
fn a_password_in_a_url_without_a_scheme_is_not_repeated() {
    for (url, displayed) in [
        ("user:s3cret@host:5432/db", "…@host:5432/db"),
        (":s3cret@host", "…@host"),
        ("s3cret@host:6379", "…@host:6379"),
        ("user:s3/cr@3t@host", "…@host"),
        ("postgrse://user:s3/cret@host", "postgrse://…@host"),
        ("redis:user:s3cret@host", "redis:…@host"),
        ("postgres:user:s3cret@host", "postgres:…@host"),
        ("postgres:/user:s3cret@host", "postgres:…@host"),
    ] {
        let reported = complaint(url);
        assert!(!reported.contains("cret") && !reported.contains("s3"), "{reported}");
        // A driver may hide all of it.
        assert!(reported.contains(displayed) || reported.contains("\"…\""), "{reported}");
    }
}

#[test]
fn a_login_without_a_scheme_is_not_shown() {
    for (word, displayed) in [
        ("us:secret@host:6379", "…@host:6379"),
        (":secret@host", "…@host"),
        ("us:secr@et@host/db?x=1", "…@host/db?x=1"),
        ("assay.url=us:secret@host", "…@host"),
    ] {
        assert_eq!(word_without_secrets(word), displayed);
    }
    assert_eq!(word_without_secrets("-target=3@x"), "-target=3@x");
}

/// Passwords that are not encoded, each with the sign that ends another part of a URL.
const RAW_PASSWORDS: [&str; 9] = [
    "s3cret",
    "s3/cret",
    "s3?cret",
    "s3@cret",
    "s3#cret",
    "s3:cret",
    "s3/cr@et",
    "s3?token=cret",
    "12/s3&cret",
];

#[test]
fn a_password_never_shows_whatever_its_scheme_and_signs() {
    let behind_network = KNOWN.iter().filter(|known| known.url.contains("://"));
    for scheme in behind_network.flat_map(Known::schemes) {
        for password in RAW_PASSWORDS {
            let url = format!("{scheme}://ann:{password}@host.example/db?connections=0");
            let displayed = without_secrets(&url);
            // The last `@` may as well be in a token that is an option.
            let is_ambiguous = password.contains("?token=");
            let host = if is_ambiguous { "" } else { "@host.example/db?connections=0" };
            assert_eq!(displayed, format!("{scheme}://…{host}"));
            assert_eq!(without_secrets(&displayed), displayed, "once is enough");
            assert_eq!(word_without_secrets(&format!("-url={url}")), format!("-url={displayed}"));
            let reported = complaint(&url);
            let hides = |part: &str| !reported.contains(part);
            assert!(hides("s3") && hides("cret") && hides("cr@et"), "{url}: {reported}");
        }
    }
}

#[test]
fn a_secret_option_is_hidden_beside_options_with_at_signs() {
    for url in [
        "jdbc:postgresql://h:5432/db?user=me@corp&password=hunter2",
        "postgres://h:5432/db?user=me@corp&password=hunter2",
        "postgres://h:5432/db?password=hun@ter2",
        "redis://h:6379/0?ca_file=/a@b&password=hunter2",
        "redis://h:6379?password=p@hunter2",
        "nothing://h?password=p@hunter2",
        "nothing:?password=p@hunter2",
    ] {
        let displayed = without_secrets(url);
        assert!(!displayed.contains("ter2"), "{displayed}");
        let word = word_without_secrets(&format!("db.url={url}"));
        assert!(!word.contains("ter2"), "{word}");
        let reported = complaint(url);
        assert!(!reported.contains("ter2"), "{reported}");
    }
}

#[test]
fn an_at_sign_without_a_login_is_shown() {
    for url in ["fmke+http://h/a@b", "mongodb://h/db?x=a@b", "jvm:a.B?p.u=m://h:1/d&p.v=a@b"] {
        assert_eq!(without_secrets(url), url);
    }
}

#[test]
fn a_path_with_an_at_sign_is_shown_whole() {
    for url in ["fjall:/data/a@b", "sqlite:x:y@z.db"] {
        assert_eq!(without_secrets(url), url);
    }
}

#[test]
fn a_password_in_a_wrong_url_is_not_repeated() {
    let reported = complaint("memory:?password=hunter2");
    assert!(reported.contains("memory:?password=…") && !reported.contains("hunter2"), "{reported}");
}

#[test]
fn options_that_hold_secrets_are_not_shown() {
    for (url, displayed) in [
        ("jvm:a.B?p.db.passwd=s3cret&p.x=1", "jvm:a.B?p.db.passwd=…&p.x=1"),
        ("jvm:a.B?p.aws.secretKey=x", "jvm:a.B?p.aws.secretKey=…"),
        ("redis://u:p@h/?password_file=f", "redis://…@h/?password_file=f"),
        ("fjall:p?cache=1", "fjall:p?cache=1"),
        ("jvm:a.B?p.u=m://b:pw@h/y?x=1&p.a=%20", "jvm:a.B?p.u=m://…@h/y?x=1&p.a=%20"),
        ("jvm:a.B?p.u=m%3A%2F%2Fb%3Apw%40h%2Fy", "jvm:a.B?p.u=m://…@h/y"),
        ("jvm:a.B?jvm=-Dx.password=pw&jvm=-Da%3Db", "jvm:a.B?jvm=-Dx.password=…&jvm=-Da%3Db"),
        ("jvm:a.B?p.u=m://b:pw@token.h/y?x=1", "jvm:a.B?p.u=m://…@token.h/y?x=1"),
    ] {
        assert_eq!(without_secrets(url), displayed);
        assert_eq!(without_secrets(displayed), displayed, "once is enough");
    }
}

#[test]
fn a_store_that_is_not_compiled_in_names_its_feature() {
    assert_eq!(
        not_compiled_in("redb:p", "redb").to_string(),
        "redb:p cannot do this: this binary was built without it; build with `--features redb` to \
         have it"
    );
    for listed in list().into_iter().filter(|listed| !listed.is_compiled_in) {
        let feature = listed.feature.expect("what can be left out has a feature");
        assert!(complaint(&format!("{}:p", listed.scheme)).contains(feature));
    }
}

#[test]
fn every_listed_store_is_described() {
    let listed = list();
    for store in &listed {
        assert!(store.url.starts_with(store.scheme), "{store:?}");
        assert!(!store.summary.is_empty() && !store.durability.is_empty(), "{store:?}");
        assert!(store.feature.is_some() || store.is_compiled_in, "{store:?}");
    }
    assert!(listed.iter().any(|store| store.scheme == EMBEDDED_DEFAULT));
}

/// What no parser takes, nor takes for a slip of the pen.
const NO_OPTION: &str = "zqzqzqzqzqzq";

/// What PostgreSQL's own URLs have as well: its documentation describes them.
const OF_LIBPQ: [&str; 9] = [
    "host",
    "hostaddr",
    "port",
    "user",
    "password",
    "dbname",
    "options",
    "tcp_user_timeout",
    "target_session_attrs",
];

/// The options that the parser of `store`'s URLs says it takes, in its answer to one that it does
/// not take.
fn accepted_options(store: &ListedStore) -> Vec<String> {
    let base = match store.url.contains("://") {
        true if store.scheme == "redis+sentinel" => format!("{}://host:1/master", store.scheme),
        true if has_path(store) => format!("{}://host:1/0", store.scheme),
        true => format!("{}://host:1", store.scheme),
        false => format!("{}:no.such.Path", store.scheme),
    };
    let answer = complaint(&format!("{base}?{NO_OPTION}=1"));
    let names = ["there are ", "it can be "].iter().find_map(|mark| answer.split_once(mark));
    let (_, names) = names.unwrap_or_else(|| panic!("{}: {answer}", store.scheme));
    let names = names.split(';').next().unwrap_or_default().split(", ").map(str::to_owned);
    let of_this_scheme = |name: &String| {
        let is_of_libpq = store.scheme == "postgres" && OF_LIBPQ.contains(&name.as_str());
        let needs_sentinels = || {
            let error = |value| open(&format!("{base}?{name}={value}"), &OPTIONS).err();
            let mut errors = ["file", "any"].into_iter().filter_map(error);
            errors.any(|error| error.to_string().contains("need redis+sentinel"))
        };
        !(is_of_libpq || store.feature == Some("redis") && needs_sentinels())
    };
    names.filter(of_this_scheme).collect()
}

/// Whether something stands behind the hosts of the listed URL.
fn has_path(store: &ListedStore) -> bool {
    let (_, rest) = store.url.split_once("://").unwrap_or_default();
    let (before_options, _) = rest.split_once('?').unwrap_or((rest, ""));
    before_options.split_once('/').is_some_and(|(_, path)| !path.is_empty())
}

/// The names of the options in a URL as it is listed.
fn listed_options(store: &ListedStore) -> Vec<String> {
    let (_, query) = store.url.split_once('?').unwrap_or_default();
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs.map(|(name, _)| name.to_owned()).filter(|name| name != "p.NAME").collect()
}

#[test]
fn a_listed_url_has_every_option_that_its_parser_takes() {
    let has_parser = |store: &ListedStore| {
        store.is_compiled_in && !["memory", "sim", "null"].contains(&store.scheme)
    };
    for store in list().into_iter().filter(has_parser) {
        let (mut listed, mut accepted) = (listed_options(&store), accepted_options(&store));
        listed.sort();
        accepted.sort();
        assert_eq!(listed, accepted, "{}", store.scheme);
    }
}

#[test]
fn sessions_roam_where_nodes_can_be_chosen() {
    let url = |url| roaming(url).map_err(|error| error.to_string());
    assert_eq!(url("mariadb://a,b/d").unwrap(), "mariadb://a,b/d?host=any");
    assert_eq!(url("postgres://h/d?standbys=s").unwrap(), "postgres://h/d?standbys=s&read=any");
    assert_eq!(url("mysql://a,b/d?host=any").unwrap(), "mysql://a,b/d?host=any");
    assert_eq!(url("etcd://a,b").unwrap(), "etcd://a,b");
    let stays = url("redis+sentinel://h/m?read=replica").unwrap_err();
    assert!(stays.contains("leave it out, or say read=any"), "{stays}");
    let cannot = url("sqlite:file").unwrap_err();
    assert!(cannot.contains("sessions cannot roam") && cannot.contains("mariadb"), "{cannot}");
    assert!(url("mariadb://a/d").unwrap_err().contains("name several hosts"));
    assert!(url("nothing:x").is_err());
}
