//! Calls that belong into one room are found in every other.

use crate::tidy::finding::Finding;
use crate::tidy::lexer::{Lexed, lex};
use crate::tidy::source::{Purpose, Source};

/// One rule: these token sequences only there.
struct Room {
    rule: &'static str,
    calls: &'static [&'static str],
    allowed: fn(&Source, usize) -> bool,
    advice: &'static str,
}

/// Crates whose code is a function of its arguments; `report` may also write the files it makes.
const PURE: [&str; 5] = ["model", "workload", "mapping", "analysis", "report"];

/// Crates that speak to the network.
const SOCKETS: [&str; 8] = ["drivers", "fleet", "fmke", "lab", "serve", "live", "assay", "xtask"];

/// The server of the simulated store, whose other code is a function of its arguments.
const SERVER_OF_SIM: [&str; 2] = ["crates/sim/src/server.rs", "crates/sim/src/connection.rs"];

const ROOMS: &[Room] = &[
    Room {
        rule: "clock",
        calls: &[
            "Instant::now",
            "SystemTime::now",
            "quanta",
            ".elapsed(",
            "clock_gettime",
            "Utc::now",
        ],
        allowed: may_read_the_clock,
        advice: "take the time as an argument: the clock is read in run/src/clock.rs",
    },
    Room {
        rule: "process",
        calls: &[
            "std::env",
            "env::args",
            "env::args_os",
            "env::var",
            "env::var_os",
            "env::vars",
            "process::exit",
            "process::abort",
        ],
        allowed: may_touch_the_process,
        advice: "take the value as an argument: only the binary reads the environment or exits",
    },
    Room {
        rule: "print",
        calls: &[
            "println!",
            "print!",
            "eprintln!",
            "eprint!",
            "io::stdout",
            "io::stderr",
            "io::stdin",
            "stdout()",
            "stderr()",
        ],
        allowed: may_print,
        advice: "return the text or take a `Write`: only the binary prints, and `live` meanwhile",
    },
    Room {
        rule: "randomness",
        calls: &[
            "thread_rng",
            "getrandom",
            "OsRng",
            "from_entropy",
            "from_os_rng",
            "fastrand",
            "rand::random",
            "rand::rng",
            "RandomState::new",
        ],
        allowed: |source, _| ["assay", "xtask"].contains(&source.room()),
        advice: "draw from `Seed::draws`: only the binary asks the system, once, for the seed",
    },
    Room {
        rule: "globals",
        calls: &["thread_local!", "static mut", "lazy_static"],
        allowed: |source, line| source.is_exempt("globals", line) || source.is_test(line),
        advice: "pass the value along: there are no globals",
    },
    Room {
        rule: "unfinished",
        calls: &["todo!", "unimplemented!", "dbg!", "#[ignore"],
        allowed: |_, _| false,
        advice: "finish it or leave it out",
    },
    Room {
        rule: "files",
        calls: &["std::fs", "fs::File", "File::open", "File::create"],
        allowed: |source, line| {
            !PURE.contains(&source.room()) || source.room() == "report" || !is_product(source, line)
        },
        advice: "take bytes or records as an argument: this crate is pure",
    },
    Room {
        rule: "tasks",
        calls: &["tokio", "thread::spawn", "thread::sleep"],
        allowed: |source, line| !PURE.contains(&source.room()) || !is_product(source, line),
        advice: "leave threads or tasks to `run` or a driver: this crate is pure",
    },
    Room {
        rule: "sockets",
        calls: &["std::net", "TcpStream::connect", "TcpListener::bind", "UdpSocket::bind"],
        allowed: |source, line| {
            SOCKETS.contains(&source.room())
                || SERVER_OF_SIM.contains(&source.path.as_str())
                || !is_product(source, line)
                || source.is_exempt("sockets", line)
        },
        advice: "move it to a driver or a server: nothing else speaks to the network",
    },
    Room {
        rule: "text",
        calls: &["format!", "write!", "writeln!"],
        allowed: |source, line| {
            source.room() != "analysis"
                || !is_product(source, line)
                || source.is_exempt("text", line)
        },
        advice: "return numbers with evidence: text is made in `report`",
    },
];

/// Types that make a `static` a global variable.
const SHARED: [&str; 12] = [
    "OnceLock",
    "OnceCell",
    "LazyLock",
    "LazyCell",
    "Lazy",
    "Mutex",
    "RwLock",
    "RefCell",
    "AtomicBool",
    "AtomicU32",
    "AtomicU64",
    "AtomicUsize",
];

/// Calls outside their room.
pub fn check_rooms(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for room in ROOMS {
        let calls: Vec<Lexed> = room.calls.iter().map(|call| lex(call)).collect();
        for (at, token) in source.lexed.tokens.iter().enumerate() {
            let is_here = |call: &Lexed| {
                let mut parts = call.tokens.iter().enumerate();
                parts.all(|(place, part)| source.lexed.matches(at + place, &[&part.text]))
            };
            let Some(place) = calls.iter().position(is_here) else { continue };
            let same_line =
                |finding: &Finding| finding.line == token.line && finding.rule == room.rule;
            if !(room.allowed)(source, token.line) && !findings.iter().any(same_line) {
                let advice = format!("`{}`: {}", room.calls[place], room.advice);
                findings.push(source.finding(token.line, room.rule, advice));
            }
        }
    }
    findings
}

/// `static` items that can change.
pub fn check_statics(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tokens = &source.lexed.tokens;
    for (at, token) in tokens.iter().enumerate() {
        let is_allowed = source.is_exempt("globals", token.line) || source.is_test(token.line);
        if !token.is("static") || is_allowed {
            continue;
        }
        let declared = tokens[at..].iter().take_while(|token| !token.is("=") && !token.is(";"));
        if declared.clone().any(|token| SHARED.contains(&token.text.as_str())) {
            let advice = "pass the value along: a static that changes is a global";
            findings.push(source.finding(token.line, "globals", advice));
        }
    }
    findings
}

/// `use a::*` outside tests.
pub fn check_globs(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    let tokens = &source.lexed.tokens;
    for (at, token) in tokens.iter().enumerate() {
        let starts = token.is("use") && !source.is_test(token.line);
        let mut statement = tokens[at..].iter().take_while(|token| !token.is(";"));
        // `impl Trait + use<'a>` is a bound, never an import.
        if starts && !source.lexed.matches(at + 1, &["<"]) && statement.any(|token| token.is("*")) {
            let advice = "name what you import: a reader must see where a name comes from";
            findings.push(source.finding(token.line, "glob", advice));
        }
    }
    findings
}

/// Comments that promise work.
pub fn check_promises(source: &Source) -> Vec<Finding> {
    let is_promise = |word: &str| ["TODO", "FIXME", "XXX", "HACK"].contains(&word);
    source
        .lexed
        .comments
        .iter()
        .filter(|comment| {
            comment.text.split(|c: char| !c.is_alphanumeric()).any(is_promise)
                && !comment.text.contains('`')
        })
        .map(|comment| {
            let advice = "do it now or write down why it is left out";
            source.finding(comment.line, "unfinished", advice)
        })
        .collect()
}

fn is_product(source: &Source, line: usize) -> bool {
    source.purpose == Purpose::Product && !source.is_test(line)
}

fn may_read_the_clock(source: &Source, line: usize) -> bool {
    let is_clock = ["crates/run/src/clock.rs", "crates/fleet/src/offset.rs"];
    // Their tests are about real servers, or links to them.
    let is_live = ["drivers", "fmke", "lab"].contains(&source.room()) && source.is_test(line);
    is_clock.contains(&source.path.as_str())
        || is_supervisor(source)
        // The progress of a run is timed by it.
        || ["live", "assay", "xtask"].contains(&source.room())
        || source.purpose == Purpose::Demonstration
        || is_live
}

/// The supervisor of a lab is a process of its own: it hears its parent and keeps a log with times.
fn is_supervisor(source: &Source) -> bool {
    source.path.starts_with("crates/lab/src/supervisor")
}

fn may_touch_the_process(source: &Source, line: usize) -> bool {
    ["assay", "xtask"].contains(&source.room()) || !is_product(source, line)
}

/// The binary prints; `live` has standard error while a run goes on.
fn may_print(source: &Source, line: usize) -> bool {
    source.room() == "live" || is_supervisor(source) || may_touch_the_process(source, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(path: &str, text: &str) -> Vec<&'static str> {
        let source = Source::new(path, text);
        let checks = [check_rooms, check_statics, check_globs, check_promises];
        checks.iter().flat_map(|check| check(&source)).map(|finding| finding.rule).collect()
    }

    #[test]
    fn the_clock_is_read_in_its_room_only() {
        let text = "fn f() { let t = std::time::Instant::now(); }";
        assert_eq!(rules("crates/run/src/executor.rs", text), ["clock"]);
        assert_eq!(rules("crates/sim/src/lib.rs", "use quanta::Clock;"), ["clock"]);
        assert_eq!(rules("crates/run/src/executor.rs", "fn f() { t.elapsed(); }"), ["clock"]);
        assert_eq!(rules("crates/run/src/clock.rs", text), [""; 0]);
        assert_eq!(rules("crates/assay/src/main.rs", text), [""; 0]);
        assert_eq!(rules("crates/live/src/progress.rs", text), [""; 0]);
        assert_eq!(rules("crates/lab/src/supervisor/kept.rs", text), [""; 0]);
        assert_eq!(rules("crates/lab/src/client.rs", text), ["clock"]);
        assert_eq!(rules("crates/run/benches/lag.rs", text), [""; 0]);
        assert_eq!(rules("drivers/redis/tests/live.rs", text), [""; 0]);
        assert_eq!(rules("crates/run/tests/lane.rs", text), ["clock"]);
    }

    #[test]
    fn a_clock_in_a_string_or_comment_is_no_call() {
        let text = "// Instant::now would be wrong\nfn f() { g(\"Instant::now()\"); }";
        assert_eq!(rules("crates/run/src/executor.rs", text), [""; 0]);
    }

    #[test]
    fn only_the_binary_touches_the_process() {
        let exit = "fn f() { std::process::exit(1); }";
        assert_eq!(rules("crates/report/src/text.rs", exit), ["process"]);
        assert_eq!(rules("crates/assay/src/main.rs", exit), [""; 0]);
        let print = "fn f() { println!(\"x\"); }";
        assert_eq!(rules("crates/report/src/text.rs", print), ["print"]);
        assert_eq!(rules("crates/report/examples/show.rs", print), [""; 0]);
        assert_eq!(rules("crates/live/src/lines.rs", print), [""; 0]);
        assert_eq!(rules("crates/live/src/lines.rs", exit), ["process"]);
        let environment = "use std::env;\nfn f() { env::var(\"X\"); }";
        assert_eq!(rules("drivers/redis/src/lib.rs", environment), ["process", "process"]);
        let built = "const V: &str = env!(\"CARGO_PKG_VERSION\");";
        assert_eq!(rules("crates/report/src/text.rs", built), [""; 0]);
    }

    #[test]
    fn randomness_comes_from_the_seed() {
        let text = "fn f() { let x = getrandom::u64(); }";
        assert_eq!(rules("crates/workload/src/keys.rs", text), ["randomness"]);
        assert_eq!(rules("crates/assay/src/seed.rs", text), [""; 0]);
    }

    #[test]
    fn globals_are_found_unless_they_say_why() {
        let text = "static STOP: AtomicBool = AtomicBool::new(false);";
        assert_eq!(rules("crates/run/src/worker.rs", text), ["globals"]);
        let reason = "// tidy: allow globals: a signal cannot carry a value\n";
        assert_eq!(rules("crates/assay/src/stop.rs", &format!("{reason}{text}")), [""; 0]);
        assert_eq!(rules("crates/run/src/worker.rs", "static mut X: u8 = 0;"), ["globals"]);
        assert_eq!(rules("crates/run/src/worker.rs", "thread_local! {}"), ["globals"]);
        assert_eq!(rules("crates/run/src/lane/tests.rs", text), [""; 0]);
        assert_eq!(rules("crates/run/src/worker.rs", "static NAME: &str = \"x\";"), [""; 0]);
        assert_eq!(rules("crates/run/src/worker.rs", "fn f(x: &'static Mutex<u8>) {}"), [""; 0]);
    }

    #[test]
    fn unfinished_work_is_found_in_tests_as_well() {
        assert_eq!(rules("crates/run/src/worker.rs", "fn f() { todo!() }"), ["unfinished"]);
        let ignored = "#[test]\n#[ignore = \"slow\"]\nfn f() {}";
        assert_eq!(rules("crates/run/tests/lane.rs", ignored), ["unfinished"]);
        assert_eq!(rules("crates/run/src/worker.rs", "// TODO: later\n"), ["unfinished"]);
        assert_eq!(rules("crates/run/src/worker.rs", "// nothing to do\n"), [""; 0]);
    }

    #[test]
    fn pure_crates_touch_no_files_tasks_or_sockets() {
        assert_eq!(rules("crates/model/src/seed.rs", "use std::fs;"), ["files"]);
        assert_eq!(rules("crates/analysis/src/latency.rs", "use tokio::task;"), ["tasks"]);
        assert_eq!(rules("crates/run/src/worker.rs", "use std::net::TcpStream;"), ["sockets"]);
        assert_eq!(rules("drivers/redis/src/lib.rs", "use std::net::TcpStream;"), [""; 0]);
        assert_eq!(rules("crates/sim/src/server.rs", "use std::net::TcpStream;"), [""; 0]);
        assert_eq!(rules("crates/sim/src/world.rs", "use std::net::TcpStream;"), ["sockets"]);
        assert_eq!(rules("crates/history/src/block.rs", "use std::fs;"), [""; 0]);
    }

    #[test]
    fn the_analyzer_makes_no_text() {
        let text = "fn f() { format!(\"{x}\"); }";
        assert_eq!(rules("crates/analysis/src/latency.rs", text), ["text"]);
        assert_eq!(rules("crates/report/src/text.rs", text), [""; 0]);
    }

    #[test]
    fn imports_name_what_they_bring() {
        assert_eq!(rules("crates/run/src/worker.rs", "use assay_model::*;"), ["glob"]);
        assert_eq!(rules("crates/run/src/worker.rs", "use a::{b, c::*};"), ["glob"]);
        let tests = "#[cfg(test)]\nmod tests {\n    use super::*;\n}";
        assert_eq!(rules("crates/run/src/worker.rs", tests), [""; 0]);
        let product = "use a::b;\nfn f() { let x = 2 * 3; }";
        assert_eq!(rules("crates/run/src/worker.rs", product), [""; 0]);
        let bound = "fn f<'a>() -> impl T + use<'a> { *x; }";
        assert_eq!(rules("crates/run/src/worker.rs", bound), [""; 0]);
    }
}
