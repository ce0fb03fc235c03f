//! Texts that are right with what they mean, texts that are wrong with what is said.

use expect_test::{Expect, expect};

use super::*;
use wrapped::wrapped;

#[path = "../../tests/it/wrapped.rs"]
mod wrapped;

#[track_caller]
fn check(found: Result<impl std::fmt::Display>, displayed: &Expect) {
    displayed.assert_eq(&match found {
        Ok(value) => value.to_string(),
        Err(error) => wrapped(&format!("error: {error}"), 70),
    });
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
    check(rate_profile("30s@1k/s,2m@1k..20k"), &expect!["30s@1000,2m@1000..20000"]);
    check(rate_profile(" 20k/s "), &expect!["20000/s"]);
    let sine = "sine:1M,period=2h,amplitude=500k/s";
    check(rate_profile(sine), &expect!["sine:1000000,amplitude=500000,period=120m"]);
}

#[test]
fn wrong_shapes_say_what_a_right_one_looks_like() {
    check(
        rate_profile("fast"),
        &expect![[r#"error: "fast" is no rate; write 20k/s, 1M/s or 0.5/s"#]],
    );
    check(rate_profile("1k..20k"), &expect!["error: a ramp needs its time: 2m@1k..20k"]);
    check(
        rate_profile("30s@1k,2m"),
        &expect![[r#"
            error: "2m" is no stage; write 30s@1k for a level or 2m@1k..20k for a
            ramp, with commas between"#]],
    );
    check(
        rate_profile("30@1k"),
        &expect![[r#"error: "30" is no length of time; write 250us, 30s or 2h30m"#]],
    );
    check(
        rate_profile("30s@"),
        &expect!["error: a rate is missing; write 1k for a level, 1k..20k for a ramp"],
    );
    check(
        rate_profile("30s@1k..-5"),
        &expect![[r#"
            error: a rate of -5: the rate must be above 0; give one, for example
            20k/s"#]],
    );
    check(rate_profile("0s@1k"), &expect!["error: a stage lasts longer than 0s"]);
    check(
        rate_profile("30s@0,1m@0"),
        &expect![[r#"
            error: stages at 0: the rate must be above 0; give one of them a rate,
            as in 30s@1k,2m@1k..20k,5m@20k"#]],
    );
    check(
        rate_profile("spik:1k..2k,at=1s,for=1s"),
        &expect![[r#"
            error: there is no shape "spik"; did you mean
            spike:1k..10k,at=30s,for=5s?"#]],
    );
    check(
        rate_profile("saw:1k"),
        &expect![[r#"
            error: there is no shape "saw"; write spike:1k..10k,at=30s,for=5s or
            sine:5k,amplitude=4k,period=60s"#]],
    );
    check(
        rate_profile("sine"),
        &expect!["error: a sine needs its numbers: sine:5k,amplitude=4k,period=60s"],
    );
}

#[test]
fn wrong_numbers_of_spikes_and_sines_are_named() {
    check(
        rate_profile("spike:1k..10k,at=30s"),
        &expect!["error: for= is missing; write spike:1k..10k,at=30s,for=5s"],
    );
    check(
        rate_profile("spike:1k,at=30s,for=5s"),
        &expect![[r#"
            error: "1k" does not say from which rate to which; write
            spike:1k..10k,at=30s,for=5s"#]],
    );
    check(
        rate_profile("spike:1k..10k,at=30s,for=5s,for=6s"),
        &expect!["error: for is there twice; write spike:1k..10k,at=30s,for=5s"],
    );
    check(
        rate_profile("sine:5k,swing=4k,period=60s"),
        &expect![[r#"error: a sine has no "swing"; write sine:5k,amplitude=4k,period=60s"#]],
    );
    check(
        rate_profile("sine:5k,amplitude=6k,period=60s"),
        &expect![[r#"
            error: an amplitude of 6000 takes a mean of 5000 below 0; give at most
            5000"#]],
    );
}

#[test]
fn processes_are_read_and_written_alike() {
    for text in ["poisson", "constant", "jitter:0.5", "mmpp2:10,1s,9s", "gamma:2", "lognormal:0.25"]
    {
        assert_eq!(process(text, Calendar::None).unwrap().to_string(), text);
    }
    check(process("jitter:50%", Calendar::None), &expect!["jitter:0.5"]);
}

#[test]
fn wrong_processes_say_what_a_right_one_looks_like() {
    check(
        process("regular", Calendar::None),
        &expect![[r#"
            error: "regular" is none of poisson, constant, jitter:0.5,
            mmpp2:10,1s,9s, gamma:2, lognormal:2, trace"#]],
    );
    check(process("gamma", Calendar::None), &expect!["error: gamma needs numbers; write gamma:2"]);
    check(
        process("poisson:2", Calendar::None),
        &expect!["error: poisson takes no number; write poisson"],
    );
    check(
        process("gamma:0", Calendar::None),
        &expect![[r#"
            error: "0" is no coefficient of variation above 0, at most 100; write
            gamma:2"#]],
    );
    check(
        process("jitter:2", Calendar::None),
        &expect![[r#"error: "2" is no share of a gap from 0 to 1; write jitter:0.5"#]],
    );
    check(
        process("mmpp2:10,1s", Calendar::None),
        &expect![[r#"
            error: "10,1s" is not ratio of rates, length of bursts, length of
            calms; write mmpp2:10,1s,9s"#]],
    );
    check(
        process("mmpp2:0.5,1s,9s", Calendar::None),
        &expect![[r#"
            error: "0.5" is no ratio of the rate in a burst to that in a calm,
            from 1 to 1000000; write mmpp2:10,1s,9s"#]],
    );
    check(
        process("mmpp2:10,1us,9s", Calendar::None),
        &expect![[r#"
            error: bursts or calms of 1.00 µs are too short; give at least 100.00
            µs"#]],
    );
    check(
        process("trace", Calendar::None),
        &expect!["error: SPEC is no trace, so it has no schedule of its own"],
    );
}
