//! Every part equals its part of the whole transform, and links carry the planned bytes.

use backend_api::Ranks as _;
use collective::Local;
use runtime::Choice;
use stark_fft::{
    BitReversed, CfftPlan, Coefficients, Columns, HostColumns, LdePlan, M31, Shard, ShardTwiddles, Sharded,
    ShardedCfftPlan, ShardedColumns, ShardedLdePlan, TwiddleTree,
};

use crate::{
    common::{columns, domain},
    queues::{StagedRank, on_ranks},
    sharded::{devices, most_ranks, shard},
};

/// One device's coefficients of columns, and their values on a domain `2^log_blowup` times as big.
fn whole(values: &HostColumns<BitReversed>, log_blowup: u32) -> (HostColumns<Coefficients>, HostColumns<BitReversed>) {
    let q = runtime::cpu().unwrap();
    let (small, count) = (values.shape().domain().unwrap(), values.count());
    let large = domain(small.log_size() + log_blowup);
    let tree = TwiddleTree::new(&q, large).unwrap();
    let values = Columns::upload(&q, values).unwrap();
    let coefficients = CfftPlan::new(small, count).unwrap().interpolate(&q, &tree, values).unwrap();
    let extended = LdePlan::new(small, large, count).unwrap().extend(&q, &tree, &coefficients).unwrap();
    (coefficients.download(&q).unwrap(), extended.download(&q).unwrap())
}

/// Returns a rank's part of whole columns.
fn part<R: Sharded>(shard: &Shard, host: &HostColumns<R>) -> Vec<M31> {
    let columns = (0..host.count()).map(|column| host.column(column).unwrap());
    columns.flat_map(|column| (0..shard.len()).map(|local| column[shard.place::<R>(local)])).collect()
}

/// Bytes that a rank sends each other one for a transform of columns, or for their extension if there are less copies than ranks.
fn exchanged(log_size: u32, count: usize, ranks: usize, copies: u64) -> u64 {
    if ranks == 1 { 0 } else { 4 * copies * (count << log_size) as u64 / (ranks * ranks) as u64 }
}

/// Interpolates, extends and evaluates on ranks, and compares every part and the bytes with the whole.
fn hold(choice: Choice, log_size: u32, count: usize, log_ranks: u32, log_blowups: &[u32]) {
    let ranks = 1 << log_ranks;
    let values = columns::<BitReversed>(log_size, count);
    let whole: Vec<_> = log_blowups.iter().map(|&log_blowup| whole(&values, log_blowup)).collect();
    let most = log_blowups.iter().max().unwrap();
    let what = format!("{choice:?}, {count} x 2^{log_size} on {ranks} ranks");
    on_ranks(Local::group(ranks), choice, |q, rank: StagedRank| {
        let mut sent = vec![0; ranks];
        let mut link = |bytes: u64, planned: u64| {
            let all = rank.sent_bytes();
            let expected: Vec<u64> = (0..ranks).map(|to| if to == rank.rank() { 0 } else { bytes }).collect();
            assert_eq!(all.iter().zip(&sent).map(|(all, sent)| all - sent).collect::<Vec<_>>(), expected, "{what}");
            assert_eq!(planned, bytes, "{what}");
            sent = all;
        };
        let own = shard(log_size, &rank);
        let twiddles = ShardTwiddles::new(q, own.on(domain(log_size + most)).unwrap()).unwrap();
        let plan = ShardedCfftPlan::new(own, count).unwrap();
        let part_of_values = ShardedColumns::upload(q, own, &values).unwrap();
        let coefficients = plan.interpolate(q, &twiddles, &rank, part_of_values).unwrap();
        link(exchanged(log_size, count, ranks, 1), plan.bytes_to_each());
        assert_eq!(coefficients.download(q).unwrap(), part(&own, &whole[0].0), "{what}, {own}");
        for (&log_blowup, (_, expected)) in log_blowups.iter().zip(&whole) {
            let plan = ShardedLdePlan::new(own, domain(log_size + log_blowup), count).unwrap();
            let extended = plan.extend(q, &twiddles, &rank, &coefficients).unwrap();
            let copies = 1 << log_blowup;
            let gathered = exchanged(log_size, count, ranks, ranks as u64);
            link(exchanged(log_size, count, ranks, copies).min(gathered), plan.bytes_to_each());
            let (part, what) = (part(&plan.values(), expected), format!("{what}, 2^{log_blowup} copies"));
            assert_eq!(extended.download(q).unwrap(), part, "{what}");
        }
        let back = plan.evaluate(q, &twiddles, &rank, coefficients).unwrap();
        link(exchanged(log_size, count, ranks, 1), plan.bytes_to_each());
        assert_eq!(back.download(q).unwrap(), part(&own, &values), "{what}, and back");
    });
}

#[test]
fn every_rank_has_its_part_of_the_whole_transform() {
    for log_size in 1..=14 {
        for log_ranks in 0..=most_ranks(log_size) {
            hold(Choice::Cpu, log_size, 1 + log_size as usize % 3, log_ranks, &[log_size % 4]);
        }
    }
}

#[test]
fn every_rank_has_its_part_of_extensions_with_more_copies_than_ranks_and_less() {
    for (log_size, log_ranks) in [(3, 0), (4, 1), (7, 1), (6, 2), (9, 2), (8, 3), (11, 3), (9, 4)] {
        hold(Choice::Cpu, log_size, 2, log_ranks, &[0, 1, 2, 3, 4]);
    }
}

#[test]
fn simulated_devices_have_their_parts_too() {
    let session = devices("none");
    for (log_size, log_ranks) in [(4, 1), (10, 2), (13, 1)] {
        hold(Choice::Sim, log_size, 2, log_ranks, &[0, 1, 2]);
    }
    // Nothing is read that no op wrote and no rank brought.
    drop(session);
    let _session = devices("sanitize");
    hold(Choice::Sim, 6, 2, 2, &[0, 1, 2]);
}
