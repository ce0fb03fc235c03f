//! The rate that is intended at each moment of a run, with its exact integral.

use std::fmt;

use assay_model::Nanos;

use super::curve::Curve;

/// The rate over a run: a value with its rate, integral, and inverse integral.
///
/// Made of stretches with closed forms, so that nothing drifts: at 1 M/s the place of an arrival
/// after ten hours is known to a hundredth of a nanosecond. Beyond the last stage the last rate
/// holds on.
#[derive(Clone, Debug, PartialEq)]
pub struct RateProfile {
    form: ProfileForm,
    pieces: Vec<Piece>,
}

/// What a shape was made from; its text is the form in which it is written on a command line.
#[derive(Clone, Debug, PartialEq)]
pub enum ProfileForm {
    /// The same rate all the time, in arrivals per second.
    Constant(f64),
    /// One stage after the other; at least one.
    Stages(Vec<Stage>),
    /// One rate but for a while.
    Spike(Spike),
    /// Up and down.
    Sine(Sine),
}

/// A stretch of time in which the rate stays, or runs evenly from one to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stage {
    /// How long it lasts; above 0.
    pub length: Nanos,
    /// The rate at its beginning, in arrivals per second from 0.
    pub from: f64,
    /// The rate at its end.
    pub to: f64,
}

/// One rate, and another for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spike {
    /// The usual rate, in arrivals per second from 0.
    pub usual: f64,
    /// The rate during the spike.
    pub peak: f64,
    /// When it begins.
    pub at: Nanos,
    /// How long it lasts; above 0.
    pub length: Nanos,
}

/// mean + amplitude · sin(2πt / period).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sine {
    /// The rate at the beginning, also on average over a period; above 0.
    pub mean: f64,
    /// How far it swings, from 0 to the mean.
    pub amplitude: f64,
    /// How long one swing takes; above 0.
    pub period: Nanos,
}

/// A stretch of the time axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    from: Nanos,
    /// Arrivals expected before it.
    before: f64,
    curve: Curve,
}

impl RateProfile {
    /// The shape of `form`.
    ///
    /// # Panics
    /// If a number is outside of what its field says, or there is no stage.
    pub fn new(form: ProfileForm) -> RateProfile {
        let pieces = Vec::new();
        let mut rate_profile = RateProfile { form: form.clone(), pieces };
        match form {
            ProfileForm::Constant(rate) => rate_profile.push(Nanos::ZERO, flat(rate)),
            ProfileForm::Stages(stages) => rate_profile.push_stages(&stages),
            ProfileForm::Spike(Spike { usual, peak, at, length }) => {
                assert!(length > Nanos::ZERO, "a spike lasts");
                rate_profile.push(Nanos::ZERO, flat(usual));
                rate_profile.push(at, flat(peak));
                rate_profile.push(at.saturating_add(length), flat(usual));
            }
            ProfileForm::Sine(Sine { mean, amplitude, period }) => {
                assert!(period > Nanos::ZERO, "a period lasts");
                assert!(mean > 0.0 && mean.is_finite(), "a rate is above 0");
                assert!((0.0..=mean).contains(&amplitude), "the rate never falls below 0");
                rate_profile.push(Nanos::ZERO, Curve::Sine { mean, amplitude, period });
            }
        }
        rate_profile
    }

    /// The same `rate` per second all the time.
    ///
    /// # Panics
    /// If it is not finite, or below 0.
    pub fn constant(rate: f64) -> RateProfile {
        RateProfile::new(ProfileForm::Constant(rate))
    }

    /// This shape until `from`, then `rate` for ever.
    ///
    /// # Panics
    /// If the rate is not finite, or below 0.
    pub fn changed(&self, from: Nanos, rate: f64) -> RateProfile {
        let mut changed = self.clone();
        let before = self.integral(from);
        changed.pieces.retain(|piece| piece.from < from);
        changed.pieces.push(Piece { from, before, curve: flat(rate) });
        changed
    }

    fn push_stages(&mut self, stages: &[Stage]) {
        assert!(!stages.is_empty(), "there is a stage");
        let mut from = Nanos::ZERO;
        for stage in stages {
            assert!(stage.length > Nanos::ZERO, "a stage lasts");
            let Curve::Flat { rate: end } = flat(stage.to) else { return };
            let curve = match flat(stage.from) {
                Curve::Flat { rate } if rate != end => {
                    let slope = (end - rate) / stage.length.as_secs_f64();
                    Curve::Ramp { from: rate, slope }
                }
                level => level,
            };
            self.push(from, curve);
            from = from.saturating_add(stage.length);
        }
        let last = stages.last().map_or(0.0, |stage| stage.to);
        self.push(from, flat(last));
    }

    fn push(&mut self, from: Nanos, curve: Curve) {
        // A spike that begins at once leaves nothing before it.
        if self.pieces.last().is_some_and(|last| last.from == from) {
            self.pieces.pop();
        }
        let before = if self.pieces.is_empty() { 0.0 } else { self.integral(from) };
        self.pieces.push(Piece { from, before, curve });
    }

    /// What it was made from, without later changes.
    pub fn form(&self) -> &ProfileForm {
        &self.form
    }

    /// When its last stage ends, if it has stages.
    pub fn end(&self) -> Option<Nanos> {
        match &self.form {
            ProfileForm::Stages(stages) => {
                Some(stages.iter().fold(Nanos::ZERO, |sum, one| sum.saturating_add(one.length)))
            }
            _ => None,
        }
    }

    /// The rate if it is always the same.
    pub fn constant_rate(&self) -> Option<f64> {
        match self.pieces[..] {
            [Piece { curve: Curve::Flat { rate }, .. }] => Some(rate),
            _ => None,
        }
    }

    /// Arrivals per second at `moment`.
    pub fn rate(&self, moment: Nanos) -> f64 {
        let piece = self.piece_at(moment);
        piece.curve.rate(moment.since(piece.from))
    }

    /// Arrivals expected from the beginning to before `moment`.
    pub fn integral(&self, moment: Nanos) -> f64 {
        let piece = self.piece_at(moment);
        piece.before + piece.curve.integral(moment.since(piece.from))
    }

    /// Arrivals per second from `from` to `until`, on average.
    pub fn mean_rate(&self, from: Nanos, until: Nanos) -> f64 {
        match self.constant_rate() {
            Some(rate) => rate,
            None if until <= from => self.rate(from),
            None => (self.integral(until) - self.integral(from)) / until.since(from).as_secs_f64(),
        }
    }

    /// Whether nothing arrives from `moment` on.
    pub fn is_silent_from(&self, moment: Nanos) -> bool {
        let last = self.pieces[self.pieces.len() - 1];
        moment >= last.from && last.curve == Curve::Flat { rate: 0.0 }
    }

    /// When an arrival comes before which `arrivals` are expected, to the nearest nanosecond:
    /// where the integral reaches that count, or where a silence at it ends. [`Nanos::NEVER`] if
    /// that is never.
    pub fn moment(&self, arrivals: f64) -> Nanos {
        self.moment_near(arrivals, &mut 0)
    }

    /// As [`RateProfile::moment`], where `near` remembers the stretch from one call to the next.
    pub(crate) fn moment_near(&self, arrivals: f64, near: &mut usize) -> Nanos {
        if arrivals == f64::INFINITY {
            return Nanos::NEVER;
        }
        let pieces = &self.pieces;
        let mut number = (*near).min(pieces.len() - 1);
        while number > 0 && arrivals < pieces[number].before {
            number -= 1;
        }
        // Of several stretches that begin at the same count, all but the last are silent.
        while number + 1 < pieces.len() && arrivals >= pieces[number + 1].before {
            number += 1;
        }
        *near = number;
        let piece = &pieces[number];
        let time = piece.from.0 as f64 + piece.curve.inverse(arrivals - piece.before);
        let latest = pieces.get(number + 1).map_or(Nanos::NEVER, |next| next.from);
        // The conversion saturates: what never comes is the last moment that there is.
        Nanos((time + 0.5) as u64).min(latest)
    }

    fn piece_at(&self, moment: Nanos) -> &Piece {
        let after = self.pieces.partition_point(|piece| piece.from <= moment);
        &self.pieces[after.max(1) - 1]
    }
}

fn flat(rate: f64) -> Curve {
    assert!(rate.is_finite() && rate >= 0.0, "a rate is a number from 0");
    Curve::Flat { rate }
}

impl fmt::Display for RateProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.form {
            ProfileForm::Constant(rate) => write!(f, "{rate}/s"),
            ProfileForm::Stages(stages) => {
                for (place, Stage { length, from, to }) in stages.iter().enumerate() {
                    let comma = if place > 0 { "," } else { "" };
                    write!(f, "{comma}{}@{from}", Length(*length))?;
                    if to != from {
                        write!(f, "..{to}")?;
                    }
                }
                Ok(())
            }
            ProfileForm::Spike(Spike { usual, peak, at, length }) => {
                write!(f, "spike:{usual}..{peak},at={},for={}", Length(*at), Length(*length))
            }
            ProfileForm::Sine(Sine { mean, amplitude, period }) => {
                write!(f, "sine:{mean},amplitude={amplitude},period={}", Length(*period))
            }
        }
    }
}

/// A length of time in the greatest unit that divides it.
pub(crate) struct Length(pub Nanos);

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [("m", 60_000_000_000), ("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
        let length = self.0.0;
        match units.iter().find(|(_, unit)| length > 0 && length.is_multiple_of(*unit)) {
            Some((name, unit)) => write!(f, "{}{name}", length / unit),
            None if length == 0 => f.write_str("0s"),
            None => write!(f, "{length}ns"),
        }
    }
}

#[cfg(test)]
mod tests;
