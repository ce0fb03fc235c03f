//! A distribution given as a list: how often each size comes.

use assay_model::Draws;

/// Sizes with how often each comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    sizes: Vec<u64>,
    /// How often this size or one before it comes.
    up_to: Vec<u64>,
}

impl Listed {
    /// # Panics
    /// If there are not as many counts as sizes, or their sum is not above 0 in 64 bits.
    pub fn new(sizes: &[u64], counts: &[u64]) -> Listed {
        assert_eq!(sizes.len(), counts.len(), "each size has a count");
        let mut sum = 0u64;
        let up_to: Vec<u64> = counts
            .iter()
            .map(|count| {
                sum = sum.checked_add(*count).expect("counts have a sum in 64 bits");
                sum
            })
            .collect();
        assert!(sum > 0, "one of the sizes comes");
        Listed { sizes: sizes.to_vec(), up_to }
    }

    /// One size.
    #[inline]
    pub fn draw(&self, draws: &mut Draws) -> u64 {
        let sum = self.up_to.last().copied().unwrap_or(1);
        let turn = draws.below(sum);
        self.sizes[self.up_to.partition_point(|&up_to| up_to <= turn)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};

    #[test]
    fn each_size_gets_its_share() {
        let sizes = [5, 0, 700, 5000, 7];
        let listed = Listed::new(&sizes, &[1, 2, 0, 4, 1]);
        let place = |size: u64| sizes.iter().position(|known| *known == size).unwrap() as u64;
        let counts = counted(40_000, 5, |draws| place(listed.draw(draws)));
        assert_eq!(counts[2], 0);
        let shares = [0.125, 0.25, 0.5, 0.125];
        chi_square_holds(&[counts[0], counts[1], counts[3], counts[4]], |cell| shares[cell]);
    }
}
