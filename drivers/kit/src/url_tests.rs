//! The tests of URLs that drivers share.

/// Tests of the options that `$parse` makes of a URL.
///
/// Each URL in `wrong` is refused with the phrase beside it and with `$example`. The password in
/// URLs is `secret`: that of each URL in `hidden` shows neither in the options nor in the error of
/// the URL with the wrong option beside it.
#[macro_export]
macro_rules! url_tests {
    ($parse:path, $example:expr, $(hidden: $hidden:expr,)? wrong: $wrong:expr $(,)?) => {
        $(
            #[test]
            fn passwords_never_show() {
                for (url, wrong_option) in $hidden {
                    let options = $parse(url).unwrap();
                    let error = $parse(&format!("{url}{wrong_option}")).unwrap_err();
                    let shown = format!("{options} {options:?} {error}");
                    assert!(!shown.contains("secret"), "{url}: {shown}");
                }
            }
        )?

        #[test]
        fn wrong_urls_say_what_is_wrong() {
            for (url, phrase) in $wrong {
                let error = $parse(url).unwrap_err().to_string();
                assert!(error.contains(phrase), "{url}: {error}");
                assert!(error.contains($example), "{url}: {error}");
                assert!(!error.contains("secret"), "{url}: {error}");
            }
        }
    };
}
