//! Tests of what Java settings decide.

use std::fs;

use assay_study::java;

use crate::command::study::program::{OwnProgram, command_line};
use crate::options::Options;

#[test]
fn files_that_a_url_names_are_settings() {
    let folder = tempfile::tempdir().unwrap();
    let place = |name: &str| folder.path().join(name).display().to_string();
    let (file, jars, classes) = (place("a b"), place("lib"), place("classes"));
    fs::create_dir(&jars).unwrap();
    fs::create_dir_all(format!("{classes}/a/b")).unwrap();
    let write = |text: &str| {
        fs::write(&file, format!("a={text}")).unwrap();
        fs::write(format!("{jars}/x.jar"), text).unwrap();
        fs::write(format!("{classes}/a/b/C.class"), text).unwrap();
    };
    let url = format!(
        "jvm:site.ycsb.X?properties={}&classpath={jars}/*:none.jar:{classes}&p.a=b",
        file.replace(' ', "%20")
    );
    let options = Options::default();
    let program = OwnProgram::new(&options);
    let of_files = |url: &str| {
        let settings = java::settings(url, &program).unwrap();
        settings.into_iter().filter(|(name, _)| !name.starts_with('$')).collect::<Vec<_>>()
    };
    write("1");
    let before = of_files(&url);
    let names: Vec<&str> = before.iter().map(|(name, _)| name.as_str()).collect();
    let expected = [
        format!("properties {file}"),
        format!("classpath {jars}/*"),
        format!("classpath {classes}"),
    ];
    assert_eq!(names, expected);
    // As long as before.
    write("2");
    let after = of_files(&url);
    assert!(before.iter().zip(&after).all(|((_, one), (_, other))| one != other));
    write("1");
    // What is no archive is on no class path.
    fs::write(format!("{jars}/readme.txt"), "x").unwrap();
    assert_eq!(of_files(&url), before);
    assert!(of_files("fjall:x?properties=p").is_empty());
}

#[test]
fn passwords_in_variables_are_not_reported() {
    let text = "-Xmx1g  -Djavax.net.ssl.keyStorePassword=x -Du=m://a:b@h/y";
    assert_eq!(
        command_line().text_without_secrets(text),
        "-Xmx1g -Djavax.net.ssl.keyStorePassword=… -Du=m://…@h/y"
    );
}
