//! A hot set of the lowest numbers that gets a given share of the draws.

use assay_model::Draws;

/// Uniform within the hot set, uniform within the rest.
#[derive(Clone, Copy, Debug)]
pub struct Hotspot {
    first: u64,
    hot: u64,
    cold: u64,
    hot_draws: f64,
}

impl Hotspot {
    /// The hot set is the first `hot_numbers` (a fraction) of `count` numbers from `first` on; it
    /// gets `hot_draws` (a fraction) of the draws. `None` if either set is empty.
    pub fn new(first: u64, count: u64, hot_numbers: f64, hot_draws: f64) -> Option<Hotspot> {
        let hot = (count as f64 * hot_numbers) as u64;
        let cold = count.checked_sub(hot)?;
        (hot > 0 && cold > 0).then_some(Hotspot { first, hot, cold, hot_draws })
    }

    /// One number.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        if draws.unit() < self.hot_draws {
            self.first + draws.below(self.hot)
        } else {
            self.first + self.hot + draws.below(self.cold)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};

    #[test]
    fn the_hot_set_gets_its_share() {
        let hotspot = Hotspot::new(7, 50, 0.2, 0.8).unwrap();
        let counts = counted(100_000, 50, |draws| hotspot.draw(draws) - 7);
        chi_square_holds(&counts, |number| if number < 10 { 0.08 } else { 0.005 });
    }

    #[test]
    fn an_empty_set_is_no_hotspot() {
        assert!(Hotspot::new(0, 4, 0.2, 0.8).is_none());
        assert!(Hotspot::new(0, 4, 1.0, 0.8).is_none());
    }
}
