//! Lost acknowledged writes, each led to the injection that it is of.
//!
//! A fault loses what was acknowledged before it and had not reached a safe place, and what is
//! acknowledged while it lasts, by a node that the others do not follow. So the time of an
//! injection goes from the end of the one before to its own end; one that was never mended lasts
//! until the next one begins, the last one until the run ends. Where faults overlap, a write is of
//! the first that ended after its acknowledgement. What was acknowledged after the last fault was
//! mended is of none.

use assay_model::Nanos;

use super::injection::InjectionOutcome;

/// Counts for each of `injections`, in order of time, those of the lost writes that were
/// acknowledged in its time; returns how many were in the time of none.
pub fn attribute_lost_writes(injections: &mut [InjectionOutcome], acknowledged: &[Nanos]) -> u64 {
    let end = |one: &InjectionOutcome| one.fault.end().unwrap_or(one.until).max(one.fault.at);
    let mut by_end: Vec<(Nanos, usize)> =
        injections.iter().enumerate().map(|(place, one)| (end(one), place)).collect();
    by_end.sort_unstable();
    injections.iter_mut().for_each(|one| one.lost_writes = Some(0));
    let mut of_none = 0;
    for at in acknowledged {
        let first = by_end.partition_point(|(end, _)| end < at);
        match by_end.get(first) {
            Some((_, place)) => {
                let count = &mut injections[*place].lost_writes;
                *count = Some(count.unwrap_or(0) + 1);
            }
            None => of_none += 1,
        }
    }
    of_none
}
