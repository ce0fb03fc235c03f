//! Random texts of a given alphabet.

use assay_model::Draws;

/// Capital letters.
pub(super) const LETTERS: &[u8; 26] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ";
/// Digits.
pub(super) const DIGITS: &[u8; 10] = b"0123456789";
/// Letters of both cases with digits.
pub(super) const ALPHANUMERICS: &[u8; 62] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// How many characters one draw of 64 bits gives: what is left of it stays close to uniform.
const OF_ONE_DRAW: usize = 8;

/// A text of from `least` to `most` characters of `alphabet`, each as likely as any other.
pub(super) fn random(alphabet: &[u8], least: u64, most: u64, draws: &mut Draws) -> String {
    let length = least + if most > least { draws.below(most - least + 1) } else { 0 };
    let mut text = String::with_capacity(length as usize);
    let mut bits = 0;
    for place in 0..length as usize {
        if place % OF_ONE_DRAW == 0 {
            bits = draws.bits();
        }
        let product = u128::from(bits) * alphabet.len() as u128;
        text.push(char::from(alphabet[(product >> 64) as usize]));
        bits = product as u64;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::theory::{chi_square_holds, counted};
    use assay_model::Seed;

    #[test]
    fn characters_are_as_likely_as_any_other_at_every_place() {
        for place in [0, 7, 8, 15] {
            let counts = counted(52_000, 26, |draws| {
                u64::from(random(LETTERS, 16, 16, draws).as_bytes()[place] - b'A')
            });
            chi_square_holds(&counts, |_| 1.0 / 26.0);
        }
    }

    #[test]
    fn lengths_are_as_likely_as_any_other_within_their_bounds() {
        let counts = counted(20_000, 5, |draws| random(DIGITS, 8, 12, draws).len() as u64 - 8);
        chi_square_holds(&counts, |_| 0.2);
        assert_eq!(random(DIGITS, 4, 4, &mut Seed(1).draws(1, 1)).len(), 4);
    }
}
