//! Texts that are right with what they mean, texts that are wrong with what is said.

use expect_test::{Expect, expect};

use super::*;
use wrapped::wrapped;

#[path = "../../tests/it/wrapped.rs"]
mod wrapped;

/// Reads the texts of a transcript, which are its lines that begin with `$ `. What each means, or
/// what is wrong with it, follows.
#[track_caller]
fn check<T: std::fmt::Display>(read: impl Fn(&str) -> Result<T>, transcript: &Expect) {
    let lines = transcript.data().lines().map(str::trim);
    let said = lines.filter_map(|line| line.strip_prefix("$ ")).map(|text| match read(text) {
        Ok(value) => format!("$ {text}\n{value}\n"),
        Err(error) => format!("$ {text}\n{}\n", wrapped(&format!("error: {error}"), 70)),
    });
    transcript.assert_eq(&said.collect::<String>());
}

#[test]
fn shapes_are_read_and_written_alike() {
    for text in [
        "20000/s",
        "0.5/s",
        "30s@1000,2m@1000..20000,5m@20000",
        "10s@0,1500ms@0..250.5,1m@0",
        "spike:1000..10000,at=30s,for=5s",
        "spike:0..3,at=0s,for=250us",
        "sine:5000,amplitude=4000,period=1m",
    ] {
        assert_eq!(rate_profile(text).unwrap().to_string(), text);
    }
}

#[test]
fn rates_in_shapes_take_units() {
    assert_eq!(rate_profile(" 20k/s ").unwrap().to_string(), "20000/s");
    check(
        rate_profile,
        &expect![[r#"
            $ 30s@1k/s,2m@1k..20k
            30s@1000,2m@1000..20000
            $ sine:1M,period=2h,amplitude=500k/s
            sine:1000000,amplitude=500000,period=120m
        "#]],
    );
}

#[test]
fn wrong_shapes_say_what_a_right_one_looks_like() {
    check(
        rate_profile,
        &expect![[r#"
            $ fast
            error: "fast" is no rate; write 20k/s, 1M/s or 0.5/s
            $ 1k..20k
            error: a ramp needs its time: 2m@1k..20k
            $ 30s@1k,2m
            error: "2m" is no stage; write 30s@1k for a level or 2m@1k..20k for a
            ramp, with commas between
            $ 30@1k
            error: "30" is no length of time; write 250us, 30s or 2h30m
            $ 30s@
            error: a rate is missing; write 1k for a level, 1k..20k for a ramp
            $ 30s@1k..-5
            error: a rate of -5: the rate must be above 0; give one, for example
            20k/s
            $ 0s@1k
            error: a stage lasts longer than 0s
            $ 30s@0,1m@0
            error: stages at 0: the rate must be above 0; give one of them a rate,
            as in 30s@1k,2m@1k..20k,5m@20k
            $ spik:1k..2k,at=1s,for=1s
            error: there is no shape "spik"; did you mean
            spike:1k..10k,at=30s,for=5s?
            $ saw:1k
            error: there is no shape "saw"; write spike:1k..10k,at=30s,for=5s or
            sine:5k,amplitude=4k,period=60s
            $ sine
            error: a sine needs its numbers: sine:5k,amplitude=4k,period=60s
        "#]],
    );
}

#[test]
fn wrong_numbers_of_spikes_and_sines_are_named() {
    check(
        rate_profile,
        &expect![[r#"
            $ spike:1k..10k,at=30s
            error: for= is missing; write spike:1k..10k,at=30s,for=5s
            $ spike:1k,at=30s,for=5s
            error: "1k" does not say from which rate to which; write
            spike:1k..10k,at=30s,for=5s
            $ spike:1k..10k,at=30s,for=5s,for=6s
            error: for is there twice; write spike:1k..10k,at=30s,for=5s
            $ sine:5k,swing=4k,period=60s
            error: a sine has no "swing"; write sine:5k,amplitude=4k,period=60s
            $ sine:5k,amplitude=6k,period=60s
            error: an amplitude of 6000 takes a mean of 5000 below 0; give at most
            5000
        "#]],
    );
}

#[test]
fn processes_are_read_and_written_alike() {
    for text in ["poisson", "constant", "jitter:0.5", "mmpp2:10,1s,9s", "gamma:2", "lognormal:0.25"]
    {
        assert_eq!(process(text, Calendar::None).unwrap().to_string(), text);
    }
    assert_eq!(process("jitter:50%", Calendar::None).unwrap().to_string(), "jitter:0.5");
}

#[test]
fn wrong_processes_say_what_a_right_one_looks_like() {
    check(
        |text| process(text, Calendar::None),
        &expect![[r#"
            $ regular
            error: "regular" is none of poisson, constant, jitter:0.5,
            mmpp2:10,1s,9s, gamma:2, lognormal:2, trace
            $ gamma
            error: gamma needs numbers; write gamma:2
            $ poisson:2
            error: poisson takes no number; write poisson
            $ gamma:0
            error: "0" is no coefficient of variation above 0, at most 100; write
            gamma:2
            $ jitter:2
            error: "2" is no share of a gap from 0 to 1; write jitter:0.5
            $ mmpp2:10,1s
            error: "10,1s" is not ratio of rates, length of bursts, length of
            calms; write mmpp2:10,1s,9s
            $ mmpp2:0.5,1s,9s
            error: "0.5" is no ratio of the rate in a burst to that in a calm,
            from 1 to 1000000; write mmpp2:10,1s,9s
            $ mmpp2:10,1us,9s
            error: bursts or calms of 1.00 µs are too short; give at least 100.00
            µs
            $ trace
            error: SPEC is no trace, so it has no schedule of its own
        "#]],
    );
}
