//! One stretch of a shape: its rate, the integral of that, the inverse of the integral.

use std::f64::consts::TAU;

use assay_model::Nanos;

/// Steps after which the search for a moment on a sine ends; Newton needs about five, halving
/// alone gains a bit each.
const STEPS_MAX: usize = 64;

/// The search ends when it moves by less than this part of a period: a picosecond in a minute.
const PRECISION: f64 = 1e-14;

/// How the rate runs, in arrivals per second over the time since the stretch began.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Curve {
    /// Always the same.
    Flat { rate: f64 },
    /// Rising or falling by `slope` each second.
    Ramp { from: f64, slope: f64 },
    /// mean + amplitude · sin(2πt / period).
    Sine { mean: f64, amplitude: f64, period: Nanos },
}

impl Curve {
    /// The rate after `time`.
    pub fn rate(&self, time: Nanos) -> f64 {
        match *self {
            Curve::Flat { rate } => rate,
            Curve::Ramp { from, slope } => (from + slope * time.as_secs_f64()).max(0.0),
            Curve::Sine { mean, amplitude, period } => {
                let phase = Nanos(time.0 % period.0).as_secs_f64() / period.as_secs_f64();
                mean + amplitude * libm::sin(TAU * phase)
            }
        }
    }

    /// How many arrivals are expected until `time`.
    pub fn integral(&self, time: Nanos) -> f64 {
        let seconds = time.as_secs_f64();
        match *self {
            Curve::Flat { rate } => rate * time.0 as f64 / 1e9,
            Curve::Ramp { from, slope } => seconds * (from + slope * seconds / 2.0),
            Curve::Sine { mean, amplitude, period } => {
                let (whole, rest) = (time.0 / period.0, Nanos(time.0 % period.0));
                let length = period.as_secs_f64();
                let part = sine_integral(mean, amplitude, length, rest.as_secs_f64());
                whole as f64 * (mean * length) + part
            }
        }
    }

    /// After how many nanoseconds `arrivals` are expected; infinite where the rate is 0 for ever.
    pub fn inverse(&self, arrivals: f64) -> f64 {
        match *self {
            Curve::Flat { rate: 0.0 } => f64::INFINITY,
            _ if arrivals <= 0.0 => 0.0,
            Curve::Flat { rate } => arrivals * 1e9 / rate,
            // The root of the quadratic that loses no digits where the slope is small.
            Curve::Ramp { from, slope } => {
                let root = (from * from + 2.0 * slope * arrivals).max(0.0).sqrt();
                2.0 * arrivals / (from + root) * 1e9
            }
            Curve::Sine { mean, amplitude, period } => {
                let length = period.as_secs_f64();
                let whole = (arrivals / (mean * length)).floor();
                let rest = arrivals - whole * (mean * length);
                (whole * length + sine_inverse(mean, amplitude, length, rest)) * 1e9
            }
        }
    }
}

/// The integral from 0 to `x`, within one period of `length` seconds.
fn sine_integral(mean: f64, amplitude: f64, length: f64, x: f64) -> f64 {
    mean * x + amplitude * length / TAU * (1.0 - libm::cos(TAU * x / length))
}

/// The moment in a period at which the integral is `expected`: Newton's steps, halved where one
/// would leave the bracket, as near a rate of 0.
fn sine_inverse(mean: f64, amplitude: f64, length: f64, expected: f64) -> f64 {
    let mut bracket = (0.0, length);
    let mut x = (expected / mean).clamp(0.0, length);
    for _ in 0..STEPS_MAX {
        let (next, is_near) = sine_step((mean, amplitude, length), expected, x, &mut bracket);
        x = next;
        if is_near {
            break;
        }
    }
    x
}

/// One step from `x` towards the moment at which the integral is `expected`, with whether it was
/// too short for another.
fn sine_step(
    (mean, amplitude, length): (f64, f64, f64),
    expected: f64,
    x: f64,
    (low, high): &mut (f64, f64),
) -> (f64, bool) {
    let excess = sine_integral(mean, amplitude, length, x) - expected;
    if excess > 0.0 {
        *high = x
    } else {
        *low = x
    }
    let step = x - excess / (mean + amplitude * libm::sin(TAU * x / length));
    // Checked before the bracket: an arrival that is due stands on its end and would be lost.
    if (step - x).abs() <= PRECISION * length {
        return (step.clamp(0.0, length), true);
    }
    let next = if step > *low && step < *high { step } else { (*low + *high) / 2.0 };
    (next, (next - x).abs() <= PRECISION * length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moment with the steps that it took.
    fn walked(curve: (f64, f64, f64), expected: f64) -> (f64, usize) {
        let (mut x, mut bracket) = ((expected / curve.0).clamp(0.0, curve.2), (0.0, curve.2));
        for steps in 1..=STEPS_MAX {
            let (next, is_near) = sine_step(curve, expected, x, &mut bracket);
            x = next;
            if is_near {
                return (x, steps);
            }
        }
        (x, STEPS_MAX)
    }

    #[test]
    fn newton_finds_a_moment_on_a_sine_in_a_few_steps() {
        for (curve, most) in [((5e3, 4e3, 60.0), 6.0), ((10e3, 10e3, 0.02), 7.5)] {
            let (mean, amplitude, length) = curve;
            let mut sum = 0;
            for part in 0..10_000 {
                let x = length * f64::from(part) / 10_000.0;
                let expected = sine_integral(mean, amplitude, length, x);
                let (found, steps) = walked(curve, expected);
                let off = (sine_integral(mean, amplitude, length, found) - expected).abs();
                assert!(off <= 1e-12 * mean * length, "{x}: {off} in {steps} steps");
                assert_eq!(found, sine_inverse(mean, amplitude, length, expected));
                sum += steps;
            }
            let average = sum as f64 / 1e4;
            assert!(average < most, "{average} steps on average for {curve:?}");
        }
    }
}
