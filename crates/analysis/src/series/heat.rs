//! The heat map of a series: counts over time by latency.

use assay_model::Nanos;

use crate::buckets::{Buckets, ROUGH, index, lowest};
use crate::series::Cell;
use crate::summary::HeatMap;

const MOST_COLUMNS: usize = 150;
const MOST_ROWS: usize = 60;

/// Sums the buckets that `of` picks from each cell into columns and rows of equal numbers of them.
///
/// A row is 1, 2, 4 … rough buckets, so that octaves are cut evenly and no count is split.
pub fn map<'a>(
    cells: &'a [Cell],
    from: Nanos,
    width: Nanos,
    of: impl Fn(&'a Cell) -> &'a Buckets<ROUGH>,
) -> HeatMap {
    let occupied = || cells.iter().flat_map(|cell| of(cell).occupied()).map(|(bucket, _)| bucket);
    let (Some(low), Some(high)) = (occupied().min(), occupied().max()) else {
        return HeatMap { from, column_width: width, ..HeatMap::default() };
    };
    let rows = |height: usize| high / height - low / height + 1;
    let height = (0..).map(|power| 1 << power).find(|&height| rows(height) <= MOST_ROWS);
    let height = height.expect("one row is enough for any height beyond the highest bucket");
    let intervals = cells.len().div_ceil(MOST_COLUMNS).max(1);
    let columns: Vec<Vec<u64>> = cells
        .chunks(intervals)
        .map(|chunk| {
            let mut column = vec![0; rows(height)];
            for (bucket, count) in chunk.iter().flat_map(|cell| of(cell).occupied()) {
                column[bucket / height - low / height] += count;
            }
            column
        })
        .collect();
    let top = index::<ROUGH>(crate::LONGEST.0) + 1;
    let edge = |row: usize| Nanos(lowest::<ROUGH>(((low / height + row) * height).min(top)));
    HeatMap {
        from,
        column_width: Nanos(width.0.saturating_mul(intervals as u64)),
        edges: (0..=rows(height)).map(edge).collect(),
        peak: columns.iter().flatten().copied().max().unwrap_or(0),
        columns,
    }
}
