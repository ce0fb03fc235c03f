//! The caches of Twitter in March 2020 as workloads, one for each cluster of the published table.
//!
//! The numbers are those of `stat/2020Mar.md` in twitter/cache-trace, licence CC BY 4.0, which goes
//! with J. Yang, Y. Yue, K. V. Rashmi: "A large scale analysis of hundreds of in-memory cache
//! clusters at Twitter", OSDI 2020. There is no cluster 5 in it.

use super::{BuiltinWorkload, SpecFormat};

/// Operations of a first measurement.
const OPERATIONS: u64 = 1_000_000;

/// The law of popularity: Zipf's where the table has an exponent above 0.
macro_rules! popularity {
    (zipf $alpha:literal) => {
        concat!("distribution = \"zipfian\"\ntheta = ", $alpha, "\n")
    };
    (uniform) => {
        "# The table has no exponent above 0.\ndistribution = \"uniform\"\n"
    };
}

/// One cluster: its number, mean sizes of keys, values, thousands of requests a second, its mix in
/// the table's words, the weights of ours, records of at most 64 MiB, popularity.
///
/// Reads are get with gets. Writes to keys that were never accessed before are inserts, as often
/// as the table's compulsory misses; all other writes are updates. Deletes are left out.
macro_rules! cluster {
    (
        $number:literal, $key:literal, $value:literal, $rate:literal, $mix:literal,
        $read:literal, $update:literal, $insert:literal, $records:literal, $($law:tt)+
    ) => {
        BuiltinWorkload {
            name: concat!("twitter-cluster-", $number),
            description: concat!(
                "Twitter's cache cluster ", $number, ": keys ", $key, " B, values ", $value,
                " B, ", $mix
            ),
            form: SpecFormat::Toml,
            text: concat!(
                "# Cache cluster ", $number, " of Twitter in March 2020: ", $mix, ";\n",
                "# ", $rate, " thousand requests a second in production (--rate ", $rate, "k/s).\n",
                "# Numbers from twitter/cache-trace, stat/2020Mar.md, CC BY 4.0; see Yang, Yue,\n",
                "# Rashmi, OSDI 2020. The table tells mean sizes, which stand for all.\n",
                "# Writes to new keys are inserts, as often as its compulsory misses, others\n",
                "# updates; deletes are left out.\n\n",
                "[dataset]\n",
                "records = ", $records, "\n",
                "fields = 1\n",
                "field_length = ", $value, "\n",
                "key_prefix = \"\"\n",
                "key_order = \"ordered\"\n",
                "key_length = ", $key, "\n\n",
                "[operations]\n",
                "read = ", $read, "\n",
                "update = ", $update, "\n",
                "insert = ", $insert, "\n\n",
                "[keys]\n",
                popularity!($($law)+)
            ),
            suggested_records: $records,
            suggested_operations: OPERATIONS,
            suggested_sessions: None,
        }
    };
}

/// All clusters of the table.
#[rustfmt::skip]
pub(super) const CLUSTERS: [BuiltinWorkload; 53] = [
    cluster!(1, 80, 267, 11.40, "get 0.99",
        0.99, 0, 0, 100000, zipf 2.6774),
    cluster!(2, 21, 68, 12.15, "get 1.00",
        1.0, 0, 0, 100000, zipf 1.4908),
    cluster!(3, 19, 120, 1.36, "get 0.99",
        0.99, 0, 0, 100000, zipf 1.6414),
    cluster!(4, 67, 2439, 5.26, "get 0.93, set 0.07",
        0.93, 0.0323, 0.0377, 30000, zipf 1.1004),
    cluster!(6, 44, 252, 12.61, "get 0.98, set 0.02",
        0.98, 0.0169, 0.0031, 100000, zipf 1.882),
    cluster!(7, 17, 1936, 1.62, "get 0.82, set 0.18",
        0.82, 0.1663, 0.0137, 30000, zipf 1.0666),
    cluster!(8, 23, 9497, 2.11, "set 0.50, get 0.50",
        0.5, 0.4993, 0.0007, 7000, zipf 1.7366),
    cluster!(9, 32, 39, 18.83, "get 0.99",
        0.99, 0, 0, 100000, zipf 1.6796),
    cluster!(10, 22, 2333, 0.22, "add 0.50, get 0.50",
        0.5, 0.0001, 0.4999, 30000, uniform),
    cluster!(11, 24, 170, 4.16, "get 0.96, add 0.02, gets 0.01, cas 0.01",
        0.97, 0.0081, 0.0219, 100000, zipf 1.4891),
    cluster!(12, 44, 1030, 4.36, "set 0.80, get 0.20",
        0.2, 0.0055, 0.7945, 60000, zipf 0.3048),
    cluster!(13, 44, 4266, 1.34, "get 0.38, set 0.62",
        0.38, 0.0, 0.62, 20000, zipf 0.4565),
    cluster!(14, 96, 414, 5.81, "get 0.65, delete 0.22, set 0.13",
        0.65, 0.1018, 0.0282, 100000, zipf 1.2959),
    cluster!(15, 18, 102, 9.02, "set 1.00",
        0, 0.0078, 0.9922, 100000, zipf 0.0242),
    cluster!(16, 18, 115, 17.51, "get 0.93, set 0.04, add 0.01",
        0.93, 0.0464, 0.0036, 100000, zipf 1.7862),
    cluster!(17, 19, 212, 0.35, "get 0.99",
        0.99, 0, 0, 100000, zipf 2.1106),
    cluster!(18, 18, 37, 26.40, "get 0.96, add 0.01, gets 0.01, cas 0.01",
        0.97, 0.0185, 0.0015, 100000, zipf 2.0994),
    cluster!(19, 42, 101, 3.31, "get 0.75, set 0.25",
        0.75, 0.038, 0.212, 100000, zipf 0.735),
    cluster!(20, 26, 55, 5.63, "get 0.96, add 0.03",
        0.96, 0.0, 0.03, 100000, zipf 1.3699),
    cluster!(21, 25, 1, 2.18, "add 1.00",
        0, 0.0493, 0.9507, 100000, zipf 0.0521),
    cluster!(22, 54, 4, 3.24, "get 0.72, incr 0.18, set 0.10",
        0.72, 0.0457, 0.2343, 100000, zipf 0.7624),
    cluster!(23, 35, 224, 8.69, "set 0.31, get 0.36, incr 0.30, delete 0.02",
        0.36, 0.3518, 0.2582, 100000, zipf 0.274),
    cluster!(24, 32, 699, 5.29, "get 0.99",
        0.99, 0, 0, 90000, zipf 1.3726),
    cluster!(25, 49, 28, 18.97, "get 0.95, add 0.02, gets 0.02, cas 0.02",
        0.97, 0.0385, 0.0015, 100000, zipf 0.9929),
    cluster!(26, 122, 1745, 0.25, "get 0.71, set 0.29",
        0.71, 0.2128, 0.0772, 40000, zipf 0.6299),
    cluster!(27, 66, 8, 24.55, "get 0.85, set 0.15",
        0.85, 0.0388, 0.1112, 100000, zipf 1.065),
    cluster!(28, 45, 85, 9.05, "get 0.91, set 0.03, add 0.03",
        0.91, 0.0449, 0.0151, 100000, zipf 1.503),
    cluster!(29, 36, 799, 10.73, "get 0.86, set 0.13",
        0.86, 0.0855, 0.0445, 80000, zipf 1.2323),
    cluster!(30, 22, 689, 3.85, "get 0.99",
        0.99, 0, 0, 90000, zipf 1.4259),
    cluster!(31, 41, 15, 2.52, "set 0.94, get 0.06",
        0.06, 0.0, 0.94, 100000, uniform),
    cluster!(32, 41, 138, 7.35, "set 0.98, get 0.02",
        0.02, 0.0038, 0.9762, 100000, uniform),
    cluster!(33, 24, 1118, 10.53, "get 0.99, set 0.01",
        0.99, 0.0061, 0.0039, 60000, zipf 1.354),
    cluster!(34, 33, 322, 3.40, "get 0.94, set 0.06",
        0.94, 0.0397, 0.0203, 100000, zipf 1.1401),
    cluster!(35, 19, 1796, 3.06, "get 0.96, set 0.04",
        0.96, 0.0, 0.04, 40000, uniform),
    cluster!(36, 23, 78, 9.08, "get 0.93, add 0.04, gets 0.01, cas 0.01",
        0.94, 0.0286, 0.0214, 100000, zipf 1.2169),
    cluster!(37, 72, 20134, 4.15, "set 0.37, get 0.63",
        0.63, 0.1065, 0.2635, 3000, zipf 0.4251),
    cluster!(38, 41, 185, 2.52, "set 0.94, get 0.06",
        0.06, 0.0, 0.94, 100000, uniform),
    cluster!(39, 41, 80, 2.52, "set 0.94, get 0.06",
        0.06, 0.0, 0.94, 100000, uniform),
    cluster!(40, 44, 155, 6.26, "set 0.50, get 0.50",
        0.5, 0.4152, 0.0848, 100000, zipf 0.8551),
    cluster!(41, 44, 171, 5.18, "get 0.50, set 0.50",
        0.5, 0.415, 0.085, 100000, zipf 0.8542),
    cluster!(42, 40, 4703, 6.84, "get 0.96, add 0.04",
        0.96, 0.0357, 0.0043, 10000, zipf 1.5974),
    cluster!(43, 44, 304, 14.54, "set 0.50, get 0.50",
        0.5, 0.4457, 0.0543, 100000, uniform),
    cluster!(44, 25, 22, 9.41, "get 0.98, add 0.01",
        0.98, 0.0, 0.01, 100000, zipf 1.4084),
    cluster!(45, 10, 120, 0.33, "add 0.15, get 0.85",
        0.85, 0.0, 0.15, 100000, zipf 0.6372),
    cluster!(46, 44, 928, 10.47, "set 0.32, get 0.68",
        0.68, 0.1279, 0.1921, 70000, uniform),
    cluster!(47, 44, 267, 9.54, "get 1.00",
        1.0, 0, 0, 100000, zipf 2.0637),
    cluster!(48, 44, 70, 1.84, "set 0.35, get 0.65",
        0.65, 0.066, 0.284, 100000, zipf 0.8191),
    cluster!(49, 44, 10658, 1.25, "set 0.43, get 0.57",
        0.57, 0.4235, 0.0065, 6000, zipf 1.5095),
    cluster!(50, 18, 67485, 0.24, "get 0.52, set 0.48",
        0.52, 0.4348, 0.0452, 1000, zipf 1.2816),
    cluster!(51, 44, 221, 10.40, "get 0.90, set 0.10",
        0.9, 0.0988, 0.0012, 100000, zipf 1.9745),
    cluster!(52, 20, 273, 24.25, "get 0.91, add 0.04, gets 0.02, cas 0.02",
        0.93, 0.0293, 0.0307, 100000, zipf 1.2117),
    cluster!(53, 36, 9213, 1.38, "get 0.89, set 0.03, prepend 0.09",
        0.89, 0.0838, 0.0362, 7000, zipf 1.2061),
    cluster!(54, 19, 246, 0.65, "get 0.97, set 0.03",
        0.97, 0.0, 0.03, 100000, zipf 1.611),
];
