//! Encoded numbers come back through decoders that others wrote.

use super::*;

#[test]
fn runs_come_back() {
    let patterns: [&[u8]; 7] = [
        &[],
        &[1],
        &[0, 1, 1, 0, 1],
        &[1; 9],
        &[0, 1, 0, 1, 0, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0],
        &[1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 0],
        &[0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0],
    ];
    for codes in patterns {
        let mut bytes = Vec::new();
        runs::encode(codes, 1, &mut bytes);
        let mut back = Vec::new();
        assert_eq!(runs::decode(&bytes, 1, codes.len(), &mut back), Some(()), "{codes:?}");
        assert_eq!(back, codes);
    }
}

#[test]
fn random_codes_of_every_width_come_back() {
    for width in 0..=8u32 {
        for count in [1usize, 7, 8, 9, 5000] {
            let mut draws = assay_model::Seed(u64::from(width)).draws(1, count as u64);
            let mut codes = Vec::new();
            while codes.len() < count {
                let run = 1 + draws.below(20) as usize;
                codes.resize(count.min(codes.len() + run), draws.below(1 << width) as u8);
            }
            let mut bytes = Vec::new();
            runs::encode(&codes, width, &mut bytes);
            let mut back = Vec::new();
            assert_eq!(runs::decode(&bytes, width, count, &mut back), Some(()));
            assert_eq!(back, codes, "{count} codes of {width} bits");
            assert_eq!(runs::decode(&bytes, width, count * 2 + 16, &mut Vec::new()), None);
        }
    }
}

#[test]
fn a_dictionary_refuses_the_257th_value_and_forgets_the_page_that_brought_it() {
    let mut dictionary = Dictionary::default();
    let mut codes = Vec::new();
    assert!(dictionary.code(&[7, 7, 9, 7], &mut codes));
    assert_eq!((codes.as_slice(), dictionary.width()), ([0, 0, 1, 0].as_slice(), 1));
    assert!(!dictionary.code(&(0..300).collect::<Vec<_>>(), &mut codes));
    assert_eq!(dictionary.entries(), [7, 9]);
    assert!(!dictionary.code(&[7], &mut codes), "full stays full");
}

#[test]
fn codes_take_as_many_bits_as_they_need() {
    let width = |count: u64| {
        let mut dictionary = Dictionary::default();
        assert!(dictionary.code(&(0..count).collect::<Vec<_>>(), &mut Vec::new()));
        dictionary.width()
    };
    assert_eq!([1, 2, 3, 4, 5, 256].map(width), [0, 1, 2, 2, 3, 8]);
}
