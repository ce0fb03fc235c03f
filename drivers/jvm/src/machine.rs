//! The Java virtual machine of this process, of which there can be one.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use jni::errors::{Error, JniError, StartJvmError};
use jni::objects::{JString, JValue};
use jni::{InitArgsBuilder, JNIVersion, JavaVM, jni_sig, jni_str};

use super::home::Home;
use super::place::Place;
use assay_driver_kit::Surroundings;

/// Set for every virtual machine that we start.
const FIXED: [&str; 4] = [
    // Signals are ours: Ctrl-C ends a run in order.
    "-Xrs",
    "-Djava.awt.headless=true",
    // Its warning about a missing logger is of no interest.
    "-Dslf4j.internal.verbosity=ERROR",
    // Chronicle Map would tell its makers that it was started.
    "-Dchronicle.analytics.disable=true",
];

/// What Chronicle Map needs that Java 17 does not open by itself.
const OPENED: [&str; 8] = [
    "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
    "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-exports=jdk.unsupported/sun.misc=ALL-UNNAMED",
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
];

/// The same for the JIT compiler, whose values are read while it runs; a Java without one would
/// warn of them.
const OPENED_OF_COMPILER: [&str; 2] = [
    "--add-exports=jdk.compiler/com.sun.tools.javac.file=ALL-UNNAMED",
    "--add-opens=jdk.compiler/com.sun.tools.javac=ALL-UNNAMED",
];

/// From this version on Java warns of what Chronicle Map does with memory unless it is allowed.
const FIRST_THAT_WARNS: u32 = 24;
const ALLOWED: [&str; 2] =
    ["--enable-native-access=ALL-UNNAMED", "--sun-misc-unsafe-memory-access=allow"];

/// Where a machine keeps with which options it was started.
const OPTIONS: &str = "assay.options";

/// Variables from which Java takes options by itself.
const VARIABLES: [&str; 2] = ["JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS"];

/// How often, with how long between, we look whether another thread has started the machine.
const LOOKS: u32 = 2_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

/// How much of what Java says against its options is shown.
const LINES_SHOWN: usize = 4;

/// The machine of this process, started with these options if it is not there yet.
///
/// # Errors
/// If it refuses its options, cannot be loaded, or was started with others.
pub(super) fn start(
    home: &Home,
    place: &Place,
    options: &[String],
    surroundings: &Surroundings,
) -> Result<JavaVM, String> {
    if let Ok(machine) = JavaVM::singleton() {
        return with_same_options(machine, options);
    }
    let from_outside = VARIABLES.iter().any(|name| (surroundings.variable)(name).is_some());
    if !options.is_empty() || from_outside {
        try_out(home, options)?;
    }
    let mut arguments = InitArgsBuilder::new().version(JNIVersion::V1_8);
    for option in all(home, place, options) {
        let added = arguments.try_option(option);
        added.map_err(|error| format!("an option of Java is invalid: {error}"))?;
    }
    let arguments = arguments.build().map_err(|error| error.to_string())?;
    match JavaVM::with_libjvm(arguments, || Ok(&home.library)) {
        Ok(machine) => Ok(machine),
        // Another thread was faster, or is about to be.
        Err(StartJvmError::Create(Error::JniCall(JniError::AlreadyCreated))) => {
            with_same_options(awaited()?, options)
        }
        Err(error) => Err(format!(
            "Java at {} does not start: {error}; what it says itself is above",
            home.path.display()
        )),
    }
}

fn all(home: &Home, place: &Place, options: &[String]) -> Vec<String> {
    let mut all: Vec<String> = FIXED.iter().chain(&OPENED).map(|&option| option.into()).collect();
    if home.has_compiler {
        all.extend(OPENED_OF_COMPILER.iter().map(|&option| option.into()));
    }
    if home.version.is_some_and(|version| version >= FIRST_THAT_WARNS) {
        all.extend(ALLOWED.iter().map(|&option| option.into()));
    }
    all.push(format!("-Djava.class.path={}", place.archive.display()));
    all.push(format!("-D{OPTIONS}={}", options.join(" ")));
    all.extend(options.iter().cloned());
    all
}

fn awaited() -> Result<JavaVM, String> {
    for _ in 0..LOOKS {
        if let Ok(machine) = JavaVM::singleton() {
            return Ok(machine);
        }
        std::thread::sleep(BETWEEN_LOOKS);
    }
    Err("another thread began to start Java, and has not come to its end".into())
}

fn with_same_options(machine: JavaVM, options: &[String]) -> Result<JavaVM, String> {
    let requested = machine.attach_current_thread(|env| -> jni::errors::Result<String> {
        let name = env.new_string(OPTIONS)?;
        let value = env.call_static_method(
            jni_str!("java/lang/System"),
            jni_str!("getProperty"),
            jni_sig!("(Ljava/lang/String;)Ljava/lang/String;"),
            &[JValue::Object(&name)],
        )?;
        let value = env.cast_local::<JString>(value.l()?)?;
        if value.is_null() { Ok(String::new()) } else { value.try_to_string(env) }
    });
    let has = requested.map_err(|error| format!("Java does not tell its options: {error}"))?;
    let expected = options.join(" ");
    if has == expected {
        return Ok(machine);
    }
    let display = |options: &str| match options {
        "" => "none".to_owned(),
        options => format!("{options:?}"),
    };
    Err(format!(
        "a process has one Java, and this one's was started with the options {}, not {}; request \
         the same, or run this in a process of its own",
        display(&has),
        display(&expected)
    ))
}

/// Has the installation's own program look at the options first: some that it refuses would
/// otherwise end our process instead of being answered.
fn try_out(home: &Home, options: &[String]) -> Result<(), String> {
    let program = home.path.join("bin/java");
    if !Path::new(&program).is_file() {
        return Ok(());
    }
    let mut java = Command::new(&program);
    java.args(options).arg("-version").stdin(Stdio::null());
    let output = java.output();
    let output = output.map_err(|error| format!("{} cannot be run: {error}", program.display()))?;
    if output.status.success() {
        return Ok(());
    }
    let reported = [output.stderr, output.stdout].concat();
    let reported = String::from_utf8_lossy(&reported).into_owned();
    let lines: Vec<&str> = reported.lines().filter(|line| !line.is_empty()).collect();
    Err(format!(
        "Java refuses its options ({}): {}",
        options.join(" "),
        lines[..lines.len().min(LINES_SHOWN)].join("; ")
    ))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn home(version: u32) -> Home {
        let (path, library) = ("/java".into(), "/java/libjvm.so".into());
        Home { path, library, version: Some(version), has_compiler: version == 17 }
    }

    fn place() -> Place {
        Place { archive: "/assay-jvm/a.jar".into(), library: "/assay-jvm/lib".into() }
    }

    #[test]
    fn options_of_the_user_come_last() {
        let options = all(&home(17), &place(), &["-Xmx1g".into(), "-Da=b".into()]);
        assert_eq!(options[0], "-Xrs");
        let end = ["-Djava.class.path=/assay-jvm/a.jar", "-Dassay.options=-Xmx1g -Da=b"];
        assert_eq!(options[options.len() - 4..options.len() - 2], end);
        assert_eq!(options[options.len() - 2..], ["-Xmx1g", "-Da=b"]);
    }

    #[test]
    fn newer_java_gets_the_options_that_allow_native_access() {
        let allows = |version| all(&home(version), &place(), &[]).contains(&ALLOWED[1].into());
        assert!(!allows(17) && !allows(21) && allows(25));
    }

    /// An installation whose `java` prints `reported` and exits with `code`.
    fn installation(reported: &str, code: u8) -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("bin/java");
        std::fs::create_dir_all(folder.path().join("bin")).unwrap();
        std::fs::write(&program, format!("#!/bin/sh\necho '{reported}' >&2\nexit {code}\n"))
            .unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        let home = Home { path: folder.path().to_owned(), ..home(17) };
        (folder, home)
    }

    #[test]
    fn options_that_java_refuses_are_reported_in_its_own_words() {
        let (_folder, refuses) = installation("Unrecognized option: -Xnonsense", 1);
        assert_eq!(
            try_out(&refuses, &["-Xnonsense".into()]).unwrap_err(),
            "Java refuses its options (-Xnonsense): Unrecognized option: -Xnonsense"
        );
        let (_folder, takes) = installation("openjdk version", 0);
        assert_eq!(try_out(&takes, &["-Xmx1g".into()]), Ok(()));
        assert_eq!(try_out(&home(17), &[]), Ok(()), "without a program nothing can be tried");
    }

    #[test]
    fn a_compiler_is_opened_where_there_is_one() {
        let opens = |version| {
            let options = all(&home(version), &place(), &[]);
            options.iter().any(|option| option.contains("jdk.compiler"))
        };
        assert!(opens(17) && !opens(21));
    }
}
