//! The tests that stores in this process share.

/// Tests of the store that `$open` opens by `$scheme:DIRECTORY$place?option=value&…`, in
/// directories of the tests' own. `url` and `complaint` are there for other tests as well.
///
/// * `conforms` holds of the rules that it breaks, with each of the `options`, and with those in
///   `blocking` on blocking threads.
/// * What was written is there after it is opened again, with each of the `options`.
/// * `taken`: what is said of a store that is open already.
/// * `directory_of`: the name of an engine that needs a directory, which must not be a file or have
///   something else in it.
/// * `below_a_file`: what is said of a path below `file`.
/// * `wrong`: each URL is refused with an error that ends so.
#[macro_export]
macro_rules! engine_tests {
    (
        $open:path, $scheme:literal, $place:literal,
        options: $options:expr,
        blocking: $blocking:literal,
        conforms: $conforms:expr,
        $(taken: $taken:literal,)?
        $(directory_of: $name:literal,)?
        $(below_a_file: $below:literal,)?
        $(wrong: $wrong:expr,)?
    ) => {
        fn url(directory: &std::path::Path, options: &str) -> String {
            format!(concat!($scheme, ":{}", $place, "{}"), directory.display(), options)
        }

        fn complaint(url: &str) -> String {
            $open(url).err().expect("the store must not open").to_string()
        }

        /// Checks that a store opened with these options breaks no rules but those that it may.
        fn check(options: &str, store: &dyn assay_store::Store) {
            let findings = assay_store::conformance::check(store);
            let broken: Vec<String> = findings.iter().map(ToString::to_string).collect();
            assert!($conforms(&broken), "{options:?}: {broken:#?}");
        }

        #[test]
        fn it_conforms() {
            for options in $options {
                let directory = tempfile::tempdir().unwrap();
                check(options, &*$open(&url(directory.path(), options)).unwrap());
            }
        }

        #[test]
        fn it_conforms_on_blocking_threads() {
            let directory = tempfile::tempdir().unwrap();
            let store = $open(&url(directory.path(), $blocking)).unwrap();
            check($blocking, &assay_store::blocking::BlockingThreads::new(store.into(), 3));
        }

        #[test]
        fn what_was_written_is_there_when_it_is_opened_again() {
            for options in $options {
                let directory = tempfile::tempdir().unwrap();
                let url = url(directory.path(), options);
                let left = assay_store::conformance::leave_mark(&*$open(&url).unwrap());
                left.unwrap_or_else(|error| panic!("{options:?}: {error}"));
                let found = assay_store::conformance::find_mark(&*$open(&url).unwrap());
                found.unwrap_or_else(|error| panic!("{options:?}: {error}"));
            }
        }

        $(
            #[test]
            fn a_place_in_use_is_not_opened_twice() {
                let directory = tempfile::tempdir().unwrap();
                let url = url(directory.path(), "");
                let _first = $open(&url).unwrap();
                let message = complaint(&url);
                assert!(message.ends_with($taken), "{message}");
            }
        )?

        $(
            #[test]
            fn a_file_is_no_place_for_it() {
                let directory = tempfile::tempdir().unwrap();
                let file = directory.path().join("file");
                std::fs::write(&file, "kept").unwrap();
                let message = complaint(&format!(concat!($scheme, ":{}"), file.display()));
                let expected = "needs a directory, which may be new or empty";
                let expected = format!("is a file; {} {expected}", $name);
                assert!(message.ends_with(&expected), "{message}");
                assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
            }

            #[test]
            fn a_directory_of_other_things_is_left_alone() {
                let directory = tempfile::tempdir().unwrap();
                std::fs::write(directory.path().join("thesis.txt"), "kept").unwrap();
                let path = directory.path().display();
                let message = complaint(&format!(concat!($scheme, ":{}"), path));
                let expected = format!("holds something that is no {} database", $name);
                assert!(message.contains(&expected), "{message}");
                assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
            }
        )?

        $(
            #[test]
            fn a_path_below_a_file_is_refused_with_its_name() {
                let directory = tempfile::tempdir().unwrap();
                std::fs::write(directory.path().join("file"), "").unwrap();
                let path = directory.path().join("file/below");
                let message = complaint(&format!(concat!($scheme, ":{}"), path.display()));
                assert!(message.contains($below), "{message}");
            }
        )?

        $(
            #[test]
            fn wrong_options_are_refused() {
                for (url, phrase) in $wrong {
                    assert!(complaint(url).ends_with(phrase), "{url}: {}", complaint(url));
                }
            }
        )?
    };
}
