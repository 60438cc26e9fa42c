//! The kernels that function-secret-sharing ops launch, by AES and number of multiprocessors.
//!
//! Results equal the processor's either way. The conformance suite checks the ops.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::{
        fss::{ExpandSeed, FssOps, PackBits, UnpackBits},
        share::{CombineBits, CombineWords, LinearWords, MatmulWords, ShareOps, TableSums},
    },
};
use core_types::{
    AesKey,
    cmp::CMP_ALL_BITS,
    params::{
        fss::{PackParams, SeedParams},
        share::{
            BitParams, BitTerm, LinearWordsParams, MatmulWordsParams, NO_ROW, TableSumsParams, Threshold, WordParams,
            WordTerm,
        },
    },
};
use cuda_backend::{AesKernel, CudaConfig, CudaQueue};
use cuda_sim::driver::{Simulation, simulate};

use crate::fss_kernels::{CPU, CmpBatch, DcfBatch, words};

/// The results of a queue for a batch.
#[derive(Debug, Default, PartialEq)]
struct FssResults {
    blocks: Vec<Vec<u128>>,
    words: Vec<Vec<u64>>,
    bits: Vec<Vec<u32>>,
}

fn comparisons<Q: FssOps>(
    q: &Q,
    [count, bits, points]: [u32; 3],
    results: &mut FssResults,
) -> Result<(), BackendError> {
    let batch = CmpBatch::new(count as usize, bits, points as usize);
    for party in 0..2 {
        for window in [bits, bits.min(8)] {
            results.bits.push(batch.window_on(q, party, window)?);
        }
        if bits <= CMP_ALL_BITS {
            // all keys, or those after the first group
            let first = if count > 32 && party == 1 { 32 } else { 0 };
            results.blocks.push(batch.all_on(q, (party, first))?);
        }
    }
    results.blocks.extend(batch.made_on(q)?);
    Ok(())
}

fn payloads<Q: FssOps>(q: &Q, [count, bits, points]: [u32; 3], results: &mut FssResults) -> Result<(), BackendError> {
    let batch = DcfBatch::new(count as usize, bits, points as usize, (3, 50));
    for (party, window) in [0, 1].into_iter().flat_map(|party| [(party, bits), (party, bits / 2)]) {
        results.words.push(batch.window_on(q, party, window)?);
    }
    let (corrections, values) = batch.made_on(q)?;
    results.blocks.push(corrections);
    results.words.extend(values);
    Ok(())
}

fn streams<Q: FssOps>(q: &Q, count: u32, bits: u32, results: &mut FssResults) -> Result<(), BackendError> {
    let params = PackParams { count, bits };
    // views that begin at odd words
    let (all, packed) = (1..count as usize + 1, 1..(count * bits).div_ceil(64) as usize + 1);
    let elements = q.upload(&words(all.end, 5))?;
    let (mut stream, mut back) = (q.zeros::<u64>(packed.end)?, q.zeros::<u64>(all.end)?);
    let (source, words) = (elements.slice(all.clone())?, stream.slice_mut(packed.clone())?);
    q.pack_bits(PackBits { params: &params, elements: source, words })?;
    let (source, elements) = (stream.slice(packed)?, back.slice_mut(all.clone())?);
    q.unpack_bits(UnpackBits { params: &params, words: source, elements })?;
    results.words.extend([q.download(&stream)?, q.download(&back)?]);
    Ok(())
}

/// The rows of a seed, in a view that begins at an odd word.
fn seeds<Q: FssOps>(q: &Q, rows: u32, blocks: u32, results: &mut FssResults) -> Result<(), BackendError> {
    let (key, first) = (AesKey::new([5; 16]), u128::MAX - 70);
    let params = SeedParams { key, first, mask: [!3, 1023], rows, blocks, reserved: [0; 2] };
    let end = 1 + 2 * rows as usize * blocks as usize;
    let mut words = q.zeros::<u64>(end)?;
    q.expand_seed(ExpandSeed { params: &params, words: words.slice_mut(1..end)? })?;
    results.words.push(q.download(&words)?);
    Ok(())
}

fn everything<Q: FssOps>(q: &Q, count: u32, bits: u32, points: u32) -> Result<FssResults, BackendError> {
    let mut results = FssResults::default();
    comparisons(q, [count, bits, points], &mut results)?;
    payloads(q, [count, bits, points], &mut results)?;
    streams(q, count, bits, &mut results)?;
    seeds(q, points, count, &mut results)?;
    Ok(results)
}

/// A machine by `spec`, and a queue on its device.
fn machine(spec: &str) -> (Simulation, CudaQueue) {
    machine_with(spec, AesKernel::Table)
}

fn machine_with(spec: &str, aes: AesKernel) -> (Simulation, CudaQueue) {
    let session = simulate(spec).unwrap();
    let queue = CudaQueue::open(CudaConfig { budget_bytes: Some(64 << 20), aes, ..CudaConfig::default() }).unwrap();
    (session, queue)
}

/// Sums of two rows each: `x` times the first word of its row, and a comparison with the first bit of its row.
fn sums<Q: FssOps + ShareOps>(q: &Q, count: u32, results: &mut FssResults) -> Result<(), BackendError> {
    let params = WordParams {
        offset: 5,
        count,
        party: 0,
        bits: 60,
        shift: 3,
        width: 57,
        padded_rows: 0,
        rows: 2,
        opened_rows: 0,
        interleaved: 0,
        reserved: 0,
    };
    let terms = [WordTerm { power: 1, ..WordTerm::word(0) }, WordTerm { last: 1, ..WordTerm::word(1) }];
    let (x, rows) = (q.upload(&words(count as usize, 6))?, q.upload(&words(2 * count as usize, 7))?);
    let (padded, opened) = (q.zeros::<u64>(0)?, q.zeros::<u32>(0)?);
    let mut sums = q.zeros::<u64>(count as usize)?;
    q.combine_words(CombineWords {
        params: &params,
        terms: &terms,
        placed: None,
        x: x.view(),
        padded: padded.view(),
        rows: rows.view(),
        opened: opened.view(),
        sums: sums.view_mut(),
    })?;
    results.words.push(q.download(&sums)?);
    let row = count.div_ceil(32) as usize;
    let bits = q.upload(&vec![0x5a5a_1234u32; row])?;
    let public = Threshold { shift: 9, bound: 1 << 63, bits: 64, wanted: 0 };
    let terms = [BitTerm { public, row: NO_ROW, last: 0 }, BitTerm { public: Threshold::default(), row: 0, last: 1 }];
    let mut sums = q.zeros::<u32>(row)?;
    let params = BitParams { count, party: 0 };
    q.combine_bits(CombineBits {
        params: &params,
        terms: &terms,
        placed: None,
        x: x.view(),
        rows: bits.view(),
        sums: sums.view_mut(),
    })?;
    results.bits.push(q.download(&sums)?);
    Ok(())
}

/// Sums of words and a row that repeats over them.
fn linear<Q: ShareOps>(q: &Q, count: u32, results: &mut FssResults) -> Result<(), BackendError> {
    let params = LinearWordsParams { alpha: 3, beta: u64::MAX, constant: 9, count, period: 7, bits: 61, reserved: 0 };
    let (x, row) = (q.upload(&words(count as usize, 6))?, q.upload(&words(7, 7))?);
    let mut out = q.zeros::<u64>(count as usize)?;
    let row = Some(row.view());
    q.linear_words(LinearWords { params: &params, x: Some(x.view()), row, out: out.view_mut() })?;
    results.words.push(q.download(&out)?);
    Ok(())
}

/// A batch of products with two tiles each.
fn products<Q: ShareOps>(q: &Q, batch: u64, results: &mut FssResults) -> Result<(), BackendError> {
    let params = MatmulWordsParams { batch, rows: 65, inner: 2, cols: 3, alpha: 5, beta: u64::MAX };
    let lens = [65 * 2, 2 * 3, 65 * 3].map(|len| batch as usize * len);
    let (x, y, mut out) = (q.upload(&words(lens[0], 8))?, q.upload(&words(lens[1], 9))?, q.upload(&words(lens[2], 3))?);
    q.matmul_words(MatmulWords { params: &params, x: x.view(), y: y.view(), out: out.view_mut() })?;
    results.words.push(q.download(&out)?);
    Ok(())
}

/// Sums over two tables of 2^8 entries.
fn tables<Q: ShareOps>(q: &Q, count: u32, results: &mut FssResults) -> Result<(), BackendError> {
    let (params, elements) = (TableSumsParams { count, bits: 8, tables: 2 }, count as usize);
    let blocks: Vec<u128> =
        words(4 * elements, 9).chunks(2).map(|w| u128::from(w[0]) << 64 | u128::from(w[1])).collect();
    let (units, x, table) = (q.upload(&blocks)?, q.upload(&words(elements, 6))?, q.upload(&words(2 << 8, 7))?);
    let (mut sums, mut ones) = (q.zeros::<u64>(2 * elements)?, q.zeros::<u64>(elements)?);
    q.table_sums(TableSums {
        params: &params,
        units: units.view(),
        x: x.view(),
        table: table.view(),
        sums: sums.view_mut(),
        ones: ones.view_mut(),
    })?;
    results.words.extend([q.download(&sums)?, q.download(&ones)?]);
    Ok(())
}

#[test]
fn the_number_of_multiprocessors_changes_launches_and_no_result() {
    let expected = several(&*CPU).unwrap();
    let mut work = Vec::new();
    for multiprocessors in [1, 4, 132] {
        let (session, queue) = machine(&format!("mem=128M;cc=9.0;driver=13.0;sms={multiprocessors}"));
        assert!(several(&queue).unwrap() == expected, "{multiprocessors} multiprocessors");
        work.push(session.counters().kernels.warp_instructions);
    }
    work.dedup();
    assert_eq!(work.len(), 3, "some launch differs between any two: {work:?}");
}

/// Ops whose grids depend on the number of multiprocessors, each with more work than a few of them hold.
fn several<Q: FssOps + ShareOps>(q: &Q) -> Result<FssResults, BackendError> {
    let mut results = FssResults::default();
    comparisons(q, [40, 12, 37], &mut results)?;
    payloads(q, [33, 9, 21], &mut results)?;
    streams(q, 9000, 11, &mut results)?;
    seeds(q, 2, 1500, &mut results)?;
    sums(q, 9000, &mut results)?;
    linear(q, 9000, &mut results)?;
    products(q, 9, &mut results)?;
    tables(q, 300, &mut results)?;
    Ok(results)
}

#[test]
fn bitsliced_aes_evaluates_every_key_to_the_same_shares() {
    let (session, queue) = machine_with("mem=128M;checks=sanitize;schedule=lazy", AesKernel::Bitsliced);
    assert!(queue.caps().path.ends_with("bitsliced AES"), "{}", queue.caps().path);
    for (count, bits, points) in [(0, 12, 2), (1, 64, 1), (31, 33, 1), (32, 8, 2), (33, 12, 3), (257, 9, 1), (64, 7, 0)]
    {
        let expected = everything(&*CPU, count, bits, points).unwrap();
        assert!(everything(&queue, count, bits, points).unwrap() == expected, "{count} keys of {bits} bits");
    }
    // what walked a tree of a party; the truth tables of 7 bits need no AES
    let launches = session.counters().launches_of;
    let evaluations: Vec<_> = launches.keys().filter(|kernel| kernel.contains("_eval")).collect();
    let (tables, walks): (Vec<_>, Vec<_>) = evaluations.into_iter().partition(|kernel| !kernel.ends_with("_bitsliced"));
    assert_eq!(tables, ["fss_cmp_eval_all", "fss_cmp_eval_window"]);
    assert_eq!((launches["fss_cmp_eval_all"], launches["fss_cmp_eval_window"]), (2, 4), "of 7 bits, by either party");
    let ops = ["fss_cmp_eval_all", "fss_cmp_eval_window", "fss_dcf_eval_window"];
    assert_eq!(walks, ops.map(|op| format!("{op}_bitsliced")).iter().collect::<Vec<_>>());
    assert!(launches.contains_key("fss_expand_seed_bitsliced") && !launches.contains_key("fss_expand_seed"));
    drop(queue);
    assert_eq!(session.reports(), []);
}

#[test]
fn whole_words_are_copied_and_not_packed() {
    let (session, queue) = machine("mem=128M");
    let mut results = FssResults::default();
    streams(&queue, 33, 64, &mut results).unwrap();
    assert_eq!(results.words[0][1..], words(34, 5)[1..]);
    assert_eq!(results.words[1], results.words[0]);
    assert_eq!(session.counters().launches, 0);
}
