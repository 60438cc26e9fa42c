//! Launches of the circle kernels: number, largest domains, and inner loops.
//!
//! Results equal the processor's, bit for bit. The conformance suite checks the ops.

use backend_api::{
    BackendError, Buffer, BufferMut, Queue,
    ops::circle::{CircleEvalAtPoints, CircleEvaluate, CircleInterpolate, CircleOps, CircleRestrict, CircleTwiddles},
};
use bytemuck::NoUninit;
use core_types::{
    field::{M31, P, QM31, Twiddle},
    params::circle::{CircleFftParams, CircleRestrictParams, CircleStripParams, CircleTileParams, CircleTwiddleParams},
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaMut, CudaQueue, CudaRef, Launch};
use cuda_sim::driver::{Simulation, simulate};

fn machine(spec: &str) -> (Simulation, CudaQueue) {
    machine_of(192, spec)
}

/// A device of `mib` MiB, and a queue that uses most of them.
fn machine_of(mib: u64, spec: &str) -> (Simulation, CudaQueue) {
    let session = simulate(&format!("mem={mib}M;{spec}")).unwrap();
    let budget_bytes = Some((mib - 32) << 20);
    (session, CudaQueue::open(CudaConfig { budget_bytes, ..CudaConfig::default() }).unwrap())
}

/// Gives a kernel that transforms columns in place its arguments.
fn arguments<'a, P: NoUninit>(
    launch: Launch<'a>,
    columns: &CudaMut<'a, M31>,
    twiddles: CudaRef<'a, Twiddle>,
    params: &P,
) -> Launch<'a> {
    launch.output("columns", columns).input("twiddles", twiddles).value("params", params)
}

fn processor() -> CpuQueue {
    CpuQueue::open(CpuConfig::default()).unwrap()
}

/// Elements that include both ends of the range.
fn elements(len: usize, seed: u64) -> Vec<M31> {
    let mut rng = fastrand::Rng::with_seed(seed);
    let element = |i: usize| match i % 97 {
        13 => M31::ZERO,
        14 => M31::from_u32(P - 1),
        _ => M31::from_u32(rng.u32(..)),
    };
    (0..len).map(element).collect()
}

fn twiddles<Q: CircleOps>(q: &Q, log_size: u32) -> Result<[Q::Buf<Twiddle>; 2], BackendError> {
    let len = 1 << (log_size - 1);
    let (mut forward, mut inverse) = (q.zeros(len)?, q.zeros(len)?);
    q.circle_twiddles(CircleTwiddles {
        params: &CircleTwiddleParams { log_size },
        twiddles: forward.view_mut(),
        inverse_twiddles: inverse.view_mut(),
    })?;
    Ok([forward, inverse])
}

/// Words of a view that begins at the second word, with one word after it.
fn framed(words: &[M31]) -> Vec<M31> {
    let guard = [M31::from_u32(12_345)];
    [&guard, words, &guard].concat()
}

/// The results of a queue for a batch.
#[derive(PartialEq)]
struct Transformed {
    twiddles: [Vec<Twiddle>; 2],
    interpolated: Vec<M31>,
    evaluated: Vec<M31>,
}

fn transforms<Q: CircleOps>(q: &Q, log_size: u32, columns: u32) -> Result<Transformed, BackendError> {
    let [forward, inverse] = twiddles(q, log_size)?;
    let len = (columns as usize) << log_size;
    let words = framed(&elements(len, u64::from(log_size)));
    let params = CircleFftParams { log_size, columns };
    let (mut values, mut coefficients) = (q.upload(&words)?, q.upload(&words)?);
    q.circle_interpolate(CircleInterpolate {
        params: &params,
        inverse_twiddles: inverse.view(),
        columns: values.view_mut().slice(1..len + 1)?,
    })?;
    q.circle_evaluate(CircleEvaluate {
        params: &params,
        twiddles: forward.view(),
        columns: coefficients.view_mut().slice(1..len + 1)?,
    })?;
    Ok(Transformed {
        twiddles: [q.download(&forward)?, q.download(&inverse)?],
        interpolated: q.download(&values)?,
        evaluated: q.download(&coefficients)?,
    })
}

/// The values on a block, from the second word on, with words around them.
fn block_of<Q: CircleOps>(q: &Q, params: &CircleRestrictParams) -> Result<Vec<M31>, BackendError> {
    let [forward, _] = twiddles(q, params.log_domain)?;
    let columns = params.columns as usize;
    let (len, values_len) = (columns << params.log_coefficients, columns << params.log_block);
    let coefficients = q.upload(&framed(&elements(len, 4)))?;
    let mut values = q.upload(&framed(&elements(values_len, 7)))?;
    q.circle_restrict(CircleRestrict {
        params,
        twiddles: forward.view(),
        coefficients: coefficients.slice(1..len + 1)?,
        values: values.slice_mut(1..values_len + 1)?,
    })?;
    q.download(&values)
}

#[test]
fn transforms_with_wide_strips_equal_the_processors() {
    let cpu = processor();
    let (session, queue) = machine("");
    for log_size in [17, 20, 21] {
        let expected = transforms(&cpu, log_size, 1).unwrap();
        let launches = session.counters().launches;
        assert!(transforms(&queue, log_size, 1).unwrap() == expected, "log size {log_size}");
        assert_eq!(session.counters().launches - launches, 5, "twiddles, and two launches for each transform");
    }
}

/// The only size whose tiles are pairs.
#[test]
fn transforms_of_sixteen_million_points_take_two_launches() {
    let (session, queue) = machine_of(320, "");
    let expected = transforms(&processor(), 24, 1).unwrap();
    assert!(transforms(&queue, 24, 1).unwrap() == expected);
    let counters = session.counters();
    assert_eq!(counters.launches, 5, "twiddles, and two launches for each transform");
    for pair in ["circle_tile_pair_evaluate", "circle_tile_pair_interpolate"] {
        assert_eq!(counters.launches_of.get(pair), Some(&1), "{pair}");
    }
}

/// The launch before it computes the weights.
#[test]
fn parts_are_added_up_by_the_first_launch_of_the_transform() {
    let cpu = processor();
    let (session, queue) = machine("");
    for (log_coefficients, log_domain, log_block, expected) in
        [(8, 9, 8, 1), (9, 10, 7, 2), (4, 5, 2, 2), (15, 16, 13, 3), (22, 22, 21, 3)]
    {
        let params = CircleRestrictParams { log_coefficients, log_domain, log_block, block: 1, columns: 1 };
        let launches = session.counters().launches;
        assert!(block_of(&queue, &params).unwrap() == block_of(&cpu, &params).unwrap(), "{params:?}");
        assert_eq!(session.counters().launches - launches, expected + 1, "with the twiddles: {params:?}");
    }
}

/// A launch of strips of 12 bits that run `log_rows` layers, from `layer` on.
fn strips(log_size: u32, layer: u32, log_rows: u32, scale: u32) -> CircleStripParams {
    CircleStripParams {
        log_domain: log_size,
        log_size,
        log_source: log_size,
        log_region: log_size,
        layer,
        log_rows,
        log_width: 12 - log_rows,
        scale,
        position: 0,
    }
}

/// A launch of tiles that run the first `layers` layers of some columns.
fn tiles(log_size: u32, columns: u32, layers: u32) -> CircleTileParams {
    CircleTileParams {
        words: u64::from(columns) << log_size,
        log_domain: log_size,
        log_size,
        log_source: log_size,
        layers,
        scale: 0,
        columns,
        columns_per_block: 2,
        position: 0,
    }
}

/// Runs strips on columns in place, by the kernel for the first layers of an evaluation.
fn evaluate_strips(q: &CudaQueue, columns: &CudaMut<'_, M31>, twiddles: CudaRef<'_, Twiddle>, p: &CircleStripParams) {
    let launch = q.kernel("circle_strip_evaluate").unwrap().grid([columns.len() as u64 >> 12, 1, 1]);
    let launch = launch.input("source", columns.as_ref()).output("columns", columns);
    let launch = launch.input("twiddles", twiddles).value("params", p);
    // SAFETY: both views have the lengths of the columns of the domain.
    unsafe { launch.launch() }.unwrap();
}

/// The processor's evaluation of columns.
fn evaluated(log_size: u32, columns: u32, mut words: Vec<M31>) -> Vec<M31> {
    let cpu = processor();
    cpu.circle_evaluate(CircleEvaluate {
        params: &CircleFftParams { log_size, columns },
        twiddles: twiddles(&cpu, log_size).unwrap()[0].view(),
        columns: &mut words,
    })
    .unwrap();
    words
}

/// A schedule of three launches, which only domains of 2^25 points and more have by themselves.
#[test]
fn strips_between_others_run_the_layers_in_between() {
    let (log_size, columns) = (18, 2);
    let (session, queue) = machine("checks=sanitize");
    let [forward, inverse] = twiddles(&queue, log_size).unwrap();
    let words = elements(2 << log_size, 1);
    let expected = evaluated(log_size, columns, words.clone());
    let mut got = queue.upload(&words).unwrap();
    let tiles = tiles(log_size, columns, 9);
    for params in [strips(log_size, 14, 4, 0), strips(log_size, 9, 5, 0)] {
        evaluate_strips(&queue, &got.view_mut(), forward.view(), &params);
    }
    let tile_blocks = [1 << (log_size - 12), 1, 1];
    let launch = queue.kernel("circle_tile_evaluate").unwrap().grid(tile_blocks);
    // SAFETY: the view has the length of two columns of the domain.
    unsafe { arguments(launch, &got.view_mut(), forward.view(), &tiles).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == expected);

    let launch = queue.kernel("circle_tile_interpolate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &got.view_mut(), inverse.view(), &tiles).launch() }.unwrap();
    let blocks = [u64::from(columns) << (log_size - 12), 1, 1];
    for params in [strips(log_size, 9, 5, 0), strips(log_size, 14, 4, 31 - log_size)] {
        let launch = queue.kernel("circle_strip_interpolate").unwrap().grid(blocks);
        // SAFETY: as above.
        unsafe { arguments(launch, &got.view_mut(), inverse.view(), &params).launch() }.unwrap();
    }
    assert!(queue.download(&got).unwrap() == words);
    drop((got, forward, inverse, queue));
    assert_eq!(session.reports(), []);
}

/// Layers 0 to 12 in pairs of tiles, which only domains of 2^24 points have by themselves, and the others in strips.
#[test]
fn pairs_of_tiles_run_a_layer_more() {
    let (log_size, columns) = (18, 3);
    let (session, queue) = machine("checks=sanitize");
    let [forward, inverse] = twiddles(&queue, log_size).unwrap();
    let len = (columns as usize) << log_size;
    let words = framed(&elements(len, 2));
    let expected = framed(&evaluated(log_size, columns, elements(len, 2)));
    let mut got = queue.upload(&words).unwrap();
    let tiles = tiles(log_size, columns, 13);
    let (blocks, tile_blocks) = ([u64::from(columns) << (log_size - 12), 1, 1], [1 << (log_size - 13), 2, 1]);
    let view = got.slice_mut(1..len + 1).unwrap();
    evaluate_strips(&queue, &view, forward.view(), &strips(log_size, 13, 5, 0));
    let launch = queue.kernel("circle_tile_pair_evaluate").unwrap().grid(tile_blocks);
    // SAFETY: the view has the length of the columns of the domain.
    unsafe { arguments(launch, &view, forward.view(), &tiles).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == expected);

    let view = got.slice_mut(1..len + 1).unwrap();
    let launch = queue.kernel("circle_tile_pair_interpolate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &view, inverse.view(), &tiles).launch() }.unwrap();
    let launch = queue.kernel("circle_strip_interpolate").unwrap().grid(blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &view, inverse.view(), &strips(log_size, 13, 5, 31 - log_size)).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == words);
    drop((got, forward, inverse, queue));
    assert_eq!(session.reports(), []);
}

#[test]
fn refused_and_empty_calls_launch_nothing() {
    let (session, queue) = machine("");
    let [forward, _] = twiddles(&queue, 4).unwrap();
    let mut words = queue.zeros::<M31>(33).unwrap();
    let params = CircleFftParams { log_size: 4, columns: 2 };
    let op = CircleEvaluate { params: &params, twiddles: forward.view(), columns: words.view_mut() };
    let refused = BackendError::Length { op: "circle_evaluate", view: "columns", expected: 32, got: 33 };
    assert_eq!(queue.circle_evaluate(op), Err(refused));
    let params = CircleFftParams { columns: 0, ..params };
    let columns = words.slice_mut(0..0).unwrap();
    queue.circle_evaluate(CircleEvaluate { params: &params, twiddles: forward.view(), columns }).unwrap();
    let (points, mut sampled) = (queue.zeros::<QM31>(4).unwrap(), queue.zeros::<QM31>(0).unwrap());
    queue
        .circle_eval_at_points(CircleEvalAtPoints {
            columns: &[],
            samples: &[],
            coefficients: words.view(),
            points: points.view(),
            sampled: sampled.view_mut(),
        })
        .unwrap();
    queue.finish().unwrap();
    assert_eq!(session.counters().launches, 1, "the twiddles alone");
}

/// The inner loops keep the form that the speed rests on: for each butterfly one product, a `min` for it, its sum and its difference, and
/// no compare-and-select.
#[test]
fn butterflies_reduce_by_minimum_and_never_select() {
    let text = include_str!("../../../kernels-ptx/ptx/circle.ptx");
    for kernel in ["circle_tile_evaluate", "circle_strip_evaluate"] {
        let (_, body) = text.split_once(&format!(".entry {kernel}(")).unwrap();
        let body = body.split("\n}").next().unwrap();
        let count = |opcode: &str| body.lines().filter(|line| line.trim().starts_with(opcode)).count();
        let butterflies = if kernel == "circle_tile_evaluate" { 3 * 32 } else { 32 };
        assert!((3 * butterflies..3 * butterflies + 4).contains(&count("min.u32")), "{kernel}: {}", count("min.u32"));
        let products = count("mul.wide.u32 wide");
        assert!((butterflies..butterflies + 4).contains(&products), "{kernel}: {products}");
        assert!(count("selp") < 8, "{kernel}: {}", count("selp"));
    }
}
