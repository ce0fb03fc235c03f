//! Clients that could not measure what they claim.

use assay_model::{Nanos, Seed};

use super::{assert_invalid, assert_remark, assert_valid, healthy, verdict, withdraws};
use crate::hallmark::{
    CheckId, CheckVerdict, Figure, Floor, Inapplicable, NetworkLoss, Statistic, Time, Verdict,
};

#[test]
fn a_cpu_hog_next_to_the_client_explains_all_lateness() {
    // Workers wait for a processor a fifth of the time, a time slice of 20 ms each.
    let run = healthy().each(|record| super::simulated::held_up(record, 0.1, 0.02));
    let run = run.observing(|evidence| {
        evidence.workers.iter_mut().for_each(|worker| worker.waited = Some(0.2));
        let hiccups = evidence.hiccups.as_mut().unwrap();
        hiccups.counts.push((Nanos::from_millis(20), 400));
    });
    let hallmark = assert_invalid(&run, CheckId::WorkerCpu);
    assert_eq!(hallmark.check(CheckId::Lag).unwrap().because_of, Some(CheckId::WorkerCpu));
    assert_eq!(hallmark.check(CheckId::Hiccups).unwrap().because_of, Some(CheckId::WorkerCpu));
}

#[test]
fn stolen_and_throttled_time_are_found() {
    let stolen = |share| healthy().observing(|evidence| evidence.steal = Some(share));
    assert_invalid(&stolen(0.06), CheckId::WorkerCpu);
    assert_remark(&stolen(0.02), CheckId::WorkerCpu);
    let run = healthy().observing(|evidence| evidence.throttled = Some(0.05));
    assert_invalid(&run, CheckId::WorkerCpu);
}

#[test]
fn a_saturated_worker_is_found() {
    let busy = |share: f64| healthy().observing(|evidence| evidence.workers[1].busy = share);
    assert_valid(&busy(0.7));
    assert_remark(&busy(0.8), CheckId::WorkerCpu);
    assert_invalid(&busy(0.95), CheckId::WorkerCpu);
}

#[test]
fn a_spinning_workers_load_is_estimated_from_the_requests_that_find_it_busy() {
    let spinning = |late: u64| {
        let run = healthy().each(|record| {
            let is_late = record.index % 10 < late;
            let late = 2_000 + Seed(4).draws(1, record.index).below(200_000);
            record.started = record.intended + Nanos(if is_late { late } else { 300 });
        });
        run.observing(|evidence| {
            evidence.spins = true;
            evidence.workers.iter_mut().for_each(|worker| worker.busy = 1.0);
        })
    };
    let hallmark = assert_valid(&spinning(3));
    let busy = hallmark.check(CheckId::WorkerCpu).unwrap().measures[0];
    assert_eq!(busy.statistic, Statistic::WorkerBusy);
    assert!((busy.value - 0.3).abs() < 0.01, "{busy:?}");
    assert_remark(&spinning(8), CheckId::WorkerCpu);
    assert_invalid(&spinning(10), CheckId::WorkerCpu);
    let inside = spinning(10).observing(|evidence| evidence.store_in_workers = true);
    assert_valid(&inside);
    let measured = spinning(10).observing(|evidence| {
        evidence.workers.iter_mut().for_each(|worker| worker.useful = Some(0.5));
    });
    assert_valid(&measured);
}

#[test]
fn missing_worker_observations_are_named_and_do_not_suffice() {
    let run = healthy().observing(|evidence| evidence.throttled = None);
    let hallmark = assert_valid(&run);
    let check = hallmark.check(CheckId::WorkerCpu).unwrap();
    assert_eq!(check.unobserved, [Statistic::Throttled]);
    // A spinning closed loop says nothing by the time that its workers use.
    let blind = run.closed(4, None).observing(|evidence| {
        (evidence.spins, evidence.steal) = (true, None);
        evidence.workers.iter_mut().for_each(|worker| worker.waited = None);
    });
    let hallmark = blind.examine();
    assert_eq!(hallmark.verdict, Verdict::NotAssessable);
    let check = hallmark.check(CheckId::WorkerCpu).unwrap();
    assert_eq!(check.verdict, CheckVerdict::NotAssessable(Inapplicable::NotObserved));
    assert_eq!(check.unobserved, [Statistic::WorkerWaited, Statistic::Steal, Statistic::Throttled]);
}

#[test]
fn long_hiccups_withdraw_the_tail_and_tag_what_they_overlap() {
    let at = Nanos::from_secs(20);
    let run = healthy().each(|record| {
        let is_paused = record.intended > at && record.intended < at + Nanos::from_millis(60);
        if is_paused {
            record.ended += Nanos::from_millis(30);
        }
    });
    let run = run.observing(|evidence| {
        let hiccups = evidence.hiccups.as_mut().unwrap();
        hiccups.counts.push((Nanos::from_millis(60), 60));
        hiccups.longest.push((at, Nanos::from_millis(60)));
    });
    let hallmark = run.examine();
    let check = hallmark.check(CheckId::Hiccups).unwrap();
    assert_eq!((check.verdict, check.because_of), (CheckVerdict::Fail, None));
    assert!(hallmark.verdict.is_valid(), "{:?}", super::brief(&hallmark));
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.999)));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
    let tagged = check.measures.iter().find(|one| one.statistic == Statistic::OutliersInHiccups);
    assert!(tagged.unwrap().value > 0.9, "{tagged:?}");
    let tail = hallmark.percentiles.iter().find(|one| one.quantile == 0.999).unwrap();
    assert!(tail.value > Nanos::from_millis(30));
    assert!(tail.without_hiccups.unwrap() < Nanos::from_millis(8), "{tail:?}");
}

/// Sessions that call a store in their own thread, beside an observer that woke 60 ms late once
/// in 40 wakings; the workers were `held` for the same time, or not.
fn late_observer(held: bool) -> super::Run {
    let starts: Vec<Nanos> = (0..26).map(|at| Nanos::from_millis(1_500 + 1_500 * at)).collect();
    let pause = Nanos::from_millis(60);
    let run = healthy().closed(2, None).observing(|evidence| {
        evidence.store_in_workers = true;
        let hiccups = evidence.hiccups.as_mut().unwrap();
        hiccups.counts.push((pause, 60));
        hiccups.longest = starts.iter().map(|at| (*at, pause)).collect();
    });
    run.each(|record| {
        let is_under_way = |at: &&Nanos| record.intended < **at && **at < record.ended;
        if let Some(at) = starts.iter().find(is_under_way).filter(|_| held) {
            record.ended = *at + pause + Nanos(20_000);
        }
    })
}

#[test]
fn a_late_observer_is_no_remark_on_operations_that_went_on_meanwhile() {
    let hallmark = assert_valid(&late_observer(false));
    let check = hallmark.check(CheckId::Hiccups).unwrap();
    let by_response = check.measures[0];
    assert_eq!(by_response.statistic, Statistic::HiccupByResponse);
    assert!(by_response.limits.is_none() && by_response.value > 5.0, "{by_response:?}");
    let effects = check.measures.iter().filter(|one| one.statistic == Statistic::HiccupEffect);
    let effects: Vec<f64> = effects.map(|measure| measure.value).collect();
    assert!(!effects.is_empty() && effects.iter().all(|effect| *effect < 0.1), "{effects:?}");
    // A worker that sleeps until an answer comes wakes as late as the observer does.
    let sleeping = late_observer(false).observing(|evidence| evidence.store_in_workers = false);
    assert_eq!(verdict(&sleeping, CheckId::Hiccups), CheckVerdict::Fail);
}

#[test]
fn pauses_that_held_operations_withdraw_the_percentiles_that_they_are_in() {
    let hallmark = late_observer(true).examine();
    assert_eq!(hallmark.reasons, [CheckId::Hiccups], "{:?}", super::brief(&hallmark));
    assert!(withdraws(&hallmark, Figure::Percentile(Time::Response, 0.999)));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.99)));
    let tail = hallmark.percentiles.iter().find(|one| one.quantile == 0.999).unwrap();
    assert!(tail.value > Nanos::from_millis(50), "{tail:?}");
    assert!(tail.without_hiccups.unwrap() < Nanos::from_millis(10), "{tail:?}");
}

#[test]
fn a_lost_record_withdraws_every_figure() {
    let run = healthy().observing(|evidence| evidence.lost_records = Some(1));
    assert!(withdraws(&assert_invalid(&run, CheckId::LostRecords), Figure::Throughput));
}

#[test]
fn contradictory_files_withdraw_every_figure() {
    let run = healthy().observing(|evidence| evidence.contradictions = Some(1));
    assert!(withdraws(&assert_invalid(&run, CheckId::Identity), Figure::Throughput));
}

#[test]
fn segments_sent_again_are_found() {
    let sent_again = |retransmits| {
        let network = Some(NetworkLoss { segments: 10_000, retransmits });
        healthy().observing(|evidence| evidence.network = network)
    };
    assert_valid(&sent_again(10));
    assert_remark(&sent_again(11), CheckId::Network);
    let hallmark = assert_invalid(&sent_again(200), CheckId::Network);
    assert!(!withdraws(&hallmark, Figure::Throughput));
}

#[test]
fn figures_near_the_noise_floor_are_remarked_on() {
    let floor = Some(Floor { response: vec![(0.5, Nanos(1_000_000)), (0.99, Nanos(1_200_000))] });
    let run = healthy().observing(|evidence| evidence.floor = floor);
    let hallmark = assert_remark(&run, CheckId::NoiseFloor);
    assert_eq!(hallmark.check(CheckId::NoiseFloor).unwrap().measures.len(), 2);
}

#[test]
fn throughput_that_another_agent_raises_is_the_clients() {
    let run = healthy().observing(|evidence| evidence.gain_by_agent = Some(0.2));
    let hallmark = run.examine();
    assert_eq!(hallmark.reasons, [CheckId::Saturation]);
    assert!(withdraws(&hallmark, Figure::Throughput));
    assert!(!withdraws(&hallmark, Figure::Percentile(Time::Response, 0.5)));
    let enough = healthy().observing(|evidence| evidence.gain_by_agent = Some(0.01));
    assert_eq!(verdict(&enough, CheckId::Saturation), CheckVerdict::Pass);
}

#[test]
fn reads_that_find_nothing_are_found() {
    // A response time of its own kind, so that only the share is wrong.
    let missing = |percent: u64| {
        healthy().each(|record| {
            let is_missed = Seed(3).draws(1, record.index).below(100) < percent;
            record.found = !is_missed;
        })
    };
    assert_invalid(&missing(39), CheckId::Misses);
    assert_valid(&missing(39).observing(|evidence| evidence.expected_miss_share = Some(0.39)));
    let unknown = missing(39).observing(|evidence| evidence.expected_miss_share = None);
    assert_remark(&unknown, CheckId::Misses);
}

#[test]
fn records_of_another_size_are_found() {
    let sized = |rows: u32, bytes: u32| {
        let run = healthy().each(|record| (record.rows, record.bytes) = (rows, bytes));
        run.observing(|evidence| evidence.expected_bytes_per_record = Some(100.0))
    };
    assert_invalid(&sized(1, 10), CheckId::Misses);
    assert_valid(&sized(1, 100));
    // A scan brings many records.
    assert_valid(&sized(50, 5_000));
    assert_invalid(&sized(50, 500), CheckId::Misses);
}

#[test]
fn a_network_that_is_not_there_is_not_checked() {
    let run = healthy().observing(|evidence| evidence.network = Some(NetworkLoss::default()));
    let found = verdict(&run, CheckId::Network);
    assert_eq!(found, CheckVerdict::NotApplicable(Inapplicable::NoNetwork));
}
