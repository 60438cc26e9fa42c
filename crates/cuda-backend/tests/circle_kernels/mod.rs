//! The circle op set on the simulated driver: every op equals the processor's bit for bit, whatever the order of blocks
//! and warps, with all checkers on; views begin at odd words, and words around them stay as they were.

mod blocks;

use backend_api::{
    BackendError, Buffer, BufferMut, Queue,
    ops::circle::{
        BatchInverseM31, BatchInverseQm31, CircleEvalAtPoint, CircleEvalAtPoints, CircleEvaluate, CircleExtend,
        CircleInterpolate, CircleInterpolatePart, CircleOps, CircleTwiddles,
    },
};
use bytemuck::NoUninit;
use core_types::{
    circle::CirclePoint,
    field::{M31, P, QM31, Twiddle},
    params::{
        circle::{
            CircleExtendParams, CircleFftParams, CirclePartParams, CirclePointParams, CircleStripParams,
            CircleTileParams, CircleTwiddleParams,
        },
        columns::ColumnAt,
        deep::SampleAt,
    },
};
use cpu_backend::{CpuConfig, CpuQueue};
use cuda_backend::{CudaConfig, CudaMut, CudaQueue, CudaRef, Launch};
use cuda_sim::driver::{Simulation, simulate};

const ORDERS: [&str; 3] = ["order=natural", "order=reverse;schedule=lazy", "order=seeded;schedule=random;seed=7"];

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

fn secure(len: usize, seed: u64) -> Vec<QM31> {
    let words = elements(4 * len, seed);
    words.chunks_exact(4).map(|w| QM31::from_coordinates([w[0], w[1], w[2], w[3]])).collect()
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

fn extension<Q: CircleOps>(q: &Q, params: &CircleExtendParams) -> Result<Vec<M31>, BackendError> {
    let [forward, _] = twiddles(q, params.log_size)?;
    let len = (params.columns as usize) << params.log_coefficients;
    let coefficients = q.upload(&framed(&elements(len, 3)))?;
    let mut values = q.zeros::<M31>((params.columns as usize) << params.log_size)?;
    q.circle_extend(CircleExtend {
        params,
        twiddles: forward.view(),
        coefficients: coefficients.slice(1..len + 1)?,
        values: values.view_mut(),
    })?;
    q.download(&values)
}

fn at_point<Q: CircleOps>(q: &Q, log_size: u32, columns: u32) -> Result<Vec<QM31>, BackendError> {
    let t = secure(1, 9)[0];
    let point = CirclePoint::from_parameter(t).unwrap();
    let coefficients = q.upload(&elements((columns as usize) << log_size, 5))?;
    let mut results = q.zeros::<QM31>(columns as usize)?;
    q.circle_eval_at_point(CircleEvalAtPoint {
        params: &CirclePointParams { log_size, columns, point },
        coefficients: coefficients.view(),
        results: results.view_mut(),
    })?;
    q.download(&results)
}

fn part<Q: CircleOps>(q: &Q, params: &CirclePartParams) -> Result<Vec<M31>, BackendError> {
    let [_, inverse] = twiddles(q, params.log_domain)?;
    let len = (params.columns as usize) << params.log_size;
    let mut values = q.upload(&framed(&elements(len, u64::from(params.log_size))))?;
    let columns = values.view_mut().slice(1..len + 1)?;
    q.circle_interpolate_part(CircleInterpolatePart { params, inverse_twiddles: inverse.view(), columns })?;
    q.download(&values)
}

/// Columns of `log_lens` one after the other, each at all of `points` points, from the last to the first.
fn at_points<Q: CircleOps>(q: &Q, log_lens: &[u32], points: u32) -> Result<Vec<QM31>, BackendError> {
    let (mut columns, mut end) = (Vec::new(), 1);
    for &log_len in log_lens {
        columns.push(ColumnAt::new(end, log_len));
        end += 1 << log_len;
    }
    let samples: Vec<SampleAt> = (0..log_lens.len() as u32)
        .flat_map(|column| (0..points).rev().map(move |point| SampleAt { column, point }))
        .collect();
    let flat: Vec<QM31> = secure(points as usize, 8)
        .into_iter()
        .flat_map(|t| {
            let point = CirclePoint::from_parameter(t).unwrap();
            [point.x, point.y]
        })
        .collect();
    let (coefficients, points) = (q.upload(&elements(end as usize, 6))?, q.upload(&flat)?);
    let mut sampled = q.zeros::<QM31>(samples.len())?;
    q.circle_eval_at_points(CircleEvalAtPoints {
        columns: &columns,
        samples: &samples,
        coefficients: coefficients.view(),
        points: points.view(),
        sampled: sampled.view_mut(),
    })?;
    q.download(&sampled)
}

#[test]
fn transforms_of_every_size_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        for log_size in 1..=14 {
            let columns = [3, 1, 2][log_size as usize % 3];
            let expected = transforms(&cpu, log_size, columns).unwrap();
            assert!(transforms(&queue, log_size, columns).unwrap() == expected, "log size {log_size}, {order}");
        }
        for columns in [0, 1, 31, 33, 257] {
            let expected = transforms(&cpu, 5, columns).unwrap();
            assert!(transforms(&queue, 5, columns).unwrap() == expected, "{columns} columns, {order}");
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
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

/// A schedule of three launches, which only domains of 2^25 points and more have by themselves.
#[test]
fn strips_between_others_run_the_layers_in_between() {
    let (log_size, columns) = (18, 2);
    let cpu = processor();
    let (session, queue) = machine("checks=sanitize");
    let [forward, inverse] = twiddles(&queue, log_size).unwrap();
    let words = elements(2 << log_size, 1);
    let expected = {
        let [forward, _] = twiddles(&cpu, log_size).unwrap();
        let mut words = words.clone();
        cpu.circle_evaluate(CircleEvaluate {
            params: &CircleFftParams { log_size, columns },
            twiddles: forward.view(),
            columns: &mut words,
        })
        .unwrap();
        words
    };
    let mut got = queue.upload(&words).unwrap();
    let strips = |layer, log_rows, scale| CircleStripParams {
        log_domain: log_size,
        log_size,
        log_source: log_size,
        log_region: log_size,
        layer,
        log_rows,
        log_width: 12 - log_rows,
        scale,
        position: 0,
    };
    let tiles = CircleTileParams {
        words: 2 << log_size,
        log_domain: log_size,
        log_size,
        log_source: log_size,
        layers: 9,
        scale: 0,
        columns,
        columns_per_block: 2,
        position: 0,
    };
    let blocks = [u64::from(columns) << (log_size - 12), 1, 1];
    for params in [strips(14, 4, 0), strips(9, 5, 0)] {
        let columns = got.view_mut();
        let launch = queue.kernel("circle_strip_evaluate").unwrap().grid(blocks);
        let launch = launch.input("source", columns.as_ref()).output("columns", &columns);
        let launch = launch.input("twiddles", forward.view()).value("params", &params);
        // SAFETY: both views have the lengths of two columns of the domain.
        unsafe { launch.launch() }.unwrap();
    }
    let tile_blocks = [1 << (log_size - 12), 1, 1];
    let launch = queue.kernel("circle_tile_evaluate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &got.view_mut(), forward.view(), &tiles).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == expected);

    let launch = queue.kernel("circle_tile_interpolate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &got.view_mut(), inverse.view(), &tiles).launch() }.unwrap();
    for params in [strips(9, 5, 0), strips(14, 4, 31 - log_size)] {
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
    let cpu = processor();
    let (session, queue) = machine("checks=sanitize");
    let [forward, inverse] = twiddles(&queue, log_size).unwrap();
    let len = (columns as usize) << log_size;
    let words = framed(&elements(len, 2));
    let mut expected = words.clone();
    cpu.circle_evaluate(CircleEvaluate {
        params: &CircleFftParams { log_size, columns },
        twiddles: twiddles(&cpu, log_size).unwrap()[0].view(),
        columns: &mut expected[1..len + 1],
    })
    .unwrap();
    let mut got = queue.upload(&words).unwrap();
    let strips = |scale| CircleStripParams {
        log_domain: log_size,
        log_size,
        log_source: log_size,
        log_region: log_size,
        layer: 13,
        log_rows: 5,
        log_width: 7,
        scale,
        position: 0,
    };
    let tiles = CircleTileParams {
        words: len as u64,
        log_domain: log_size,
        log_size,
        log_source: log_size,
        layers: 13,
        scale: 0,
        columns,
        columns_per_block: 2,
        position: 0,
    };
    let (blocks, tile_blocks) = ([u64::from(columns) << (log_size - 12), 1, 1], [1 << (log_size - 13), 2, 1]);
    let view = got.slice_mut(1..len + 1).unwrap();
    let launch = queue.kernel("circle_strip_evaluate").unwrap().grid(blocks);
    let launch = launch.input("source", view.as_ref()).output("columns", &view);
    let launch = launch.input("twiddles", forward.view()).value("params", &strips(0));
    // SAFETY: both views have the lengths of the columns of the domain.
    unsafe { launch.launch() }.unwrap();
    let launch = queue.kernel("circle_tile_pair_evaluate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &view, forward.view(), &tiles).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == expected);

    let view = got.slice_mut(1..len + 1).unwrap();
    let launch = queue.kernel("circle_tile_pair_interpolate").unwrap().grid(tile_blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &view, inverse.view(), &tiles).launch() }.unwrap();
    let launch = queue.kernel("circle_strip_interpolate").unwrap().grid(blocks);
    // SAFETY: as above.
    unsafe { arguments(launch, &view, inverse.view(), &strips(31 - log_size)).launch() }.unwrap();
    assert!(queue.download(&got).unwrap() == words);
    drop((got, forward, inverse, queue));
    assert_eq!(session.reports(), []);
}

#[test]
fn extensions_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        for log_size in [1, 2, 3, 4, 7, 12, 13, 15] {
            for log_coefficients in (0..=log_size).filter(|m| log_size < 8 || m % 3 == 0 || log_size - m < 3) {
                let params = CircleExtendParams { log_coefficients, log_size, columns: 2 };
                let expected = extension(&cpu, &params).unwrap();
                assert!(extension(&queue, &params).unwrap() == expected, "{params:?}, {order}");
            }
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

#[test]
fn interpolations_of_parts_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        let small = (1..=9).flat_map(|log_domain| (1..=log_domain).map(move |log_size| (log_size, log_domain, 3)));
        let large = [(12, 13, 2), (11, 14, 3), (13, 14, 1), (13, 17, 2), (15, 16, 1)];
        for (log_size, log_domain, columns) in small.chain(large).chain([(2, 5, 0), (1, 4, 257)]) {
            let params = CirclePartParams { log_size, log_domain, columns };
            assert!(part(&queue, &params).unwrap() == part(&cpu, &params).unwrap(), "{params:?}, {order}");
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

#[test]
fn evaluations_at_points_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        let mixed: Vec<u32> = (0..=14).chain([3, 14, 0]).collect();
        for (log_lens, points) in [(&mixed[..], 3), (&[6; 40], 2), (&[16], 1), (&[5], 0), (&[], 2)] {
            let launches = session.counters().launches;
            let got = at_points(&queue, log_lens, points).unwrap();
            assert_eq!(got, at_points(&cpu, log_lens, points).unwrap(), "{log_lens:?} at {points} points, {order}");
            if got.is_empty() {
                assert_eq!(session.counters().launches, launches);
            }
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

#[test]
fn evaluations_at_a_point_equal_the_processors() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        for (log_size, columns) in (0..=14).map(|n| (n, 2)).chain([(4, 0), (6, 33), (16, 1)]) {
            let expected = at_point(&cpu, log_size, columns).unwrap();
            assert_eq!(at_point(&queue, log_size, columns).unwrap(), expected, "log size {log_size}, {order}");
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

#[test]
fn batch_inverses_equal_the_processors_and_zeros_are_named() {
    let cpu = processor();
    for order in ORDERS {
        let (session, queue) = machine(&format!("checks=sanitize;{order}"));
        for len in [0, 1, 31, 32, 33, 255, 256, 257, 2047, 2049, 5000] {
            let nonzero: Vec<M31> =
                elements(len, 3).into_iter().map(|x| if x.is_zero() { M31::ONE } else { x }).collect();
            let mut expected = vec![M31::ZERO; len];
            cpu.batch_inverse_m31(BatchInverseM31 {
                elements: &nonzero,
                inverses: &mut expected,
                first_zero: &mut [u64::MAX],
            })
            .unwrap();
            let (x, mut y) = (queue.upload(&nonzero).unwrap(), queue.zeros(len).unwrap());
            let mut first_zero = queue.upload(&[u64::MAX]).unwrap();
            queue
                .batch_inverse_m31(BatchInverseM31 {
                    elements: x.view(),
                    inverses: y.view_mut(),
                    first_zero: first_zero.view_mut(),
                })
                .unwrap();
            assert_eq!(queue.download(&y).unwrap(), expected, "{len} elements, {order}");

            let nonzero = secure(len, 4);
            let mut expected = vec![QM31::ZERO; len];
            cpu.batch_inverse_qm31(BatchInverseQm31 {
                elements: &nonzero,
                inverses: &mut expected,
                first_zero: &mut [u64::MAX],
            })
            .unwrap();
            let (x, mut y) = (queue.upload(&nonzero).unwrap(), queue.zeros(len).unwrap());
            queue
                .batch_inverse_qm31(BatchInverseQm31 {
                    elements: x.view(),
                    inverses: y.view_mut(),
                    first_zero: first_zero.view_mut(),
                })
                .unwrap();
            assert_eq!(queue.download(&y).unwrap(), expected, "{len} secure elements, {order}");
            assert_eq!(queue.download(&first_zero).unwrap(), [u64::MAX]);
        }
        let mut words = vec![M31::ONE; 3000];
        for zero in [2999, 2500, 700, 444] {
            words[zero] = M31::ZERO;
            let mut first_zeros = [queue.upload(&[u64::MAX]).unwrap(), queue.upload(&[u64::MAX]).unwrap()];
            let (x, mut y) = (queue.upload(&words).unwrap(), queue.zeros(3000).unwrap());
            queue
                .batch_inverse_m31(BatchInverseM31 {
                    elements: x.view(),
                    inverses: y.view_mut(),
                    first_zero: first_zeros[0].view_mut(),
                })
                .unwrap();
            let secure: Vec<QM31> = words.iter().map(|&word| word.into()).collect();
            let (x, mut y) = (queue.upload(&secure).unwrap(), queue.zeros(3000).unwrap());
            queue
                .batch_inverse_qm31(BatchInverseQm31 {
                    elements: x.view(),
                    inverses: y.view_mut(),
                    first_zero: first_zeros[1].view_mut(),
                })
                .unwrap();
            assert_eq!(first_zeros.each_ref().map(|word| queue.download(word).unwrap()), [[zero as u64]; 2]);
        }
        drop(queue);
        assert_eq!(session.reports(), [], "{order}");
    }
}

#[test]
fn views_that_do_not_fit_are_refused_and_nothing_runs() {
    let (session, queue) = machine("");
    let [forward, inverse] = twiddles(&queue, 4).unwrap();
    let (mut words, coefficients) = (queue.zeros::<M31>(33).unwrap(), queue.zeros::<M31>(16).unwrap());
    let fft = |log_size| CircleFftParams { log_size, columns: 2 };
    let length = |op, view, expected, got| Err(BackendError::Length { op, view, expected, got });
    assert_eq!(
        queue.circle_evaluate(CircleEvaluate { params: &fft(4), twiddles: forward.view(), columns: words.view_mut() }),
        length("circle_evaluate", "columns", 32, 33)
    );
    assert_eq!(
        queue.circle_interpolate(CircleInterpolate {
            params: &fft(5),
            inverse_twiddles: inverse.view(),
            columns: words.view_mut()
        }),
        length("circle_interpolate", "inverse_twiddles", 16, 8)
    );
    for log_size in [0, 31] {
        let refused = queue.circle_evaluate(CircleEvaluate {
            params: &fft(log_size),
            twiddles: forward.view(),
            columns: words.view_mut(),
        });
        assert!(matches!(refused, Err(BackendError::Unsupported { op: "circle_evaluate", .. })));
    }
    let extend = CircleExtendParams { log_coefficients: 5, log_size: 4, columns: 1 };
    let refused = queue.circle_extend(CircleExtend {
        params: &extend,
        twiddles: forward.view(),
        coefficients: coefficients.view(),
        values: words.view_mut(),
    });
    assert!(matches!(refused, Err(BackendError::Unsupported { op: "circle_extend", .. })));
    let mut flag = queue.zeros::<u64>(2).unwrap();
    let refused = queue.batch_inverse_m31(BatchInverseM31 {
        elements: coefficients.view(),
        inverses: words.view_mut(),
        first_zero: flag.slice_mut(0..1).unwrap(),
    });
    assert_eq!(refused, length("batch_inverse_m31", "inverses", 16, 33));
    let refused = queue.batch_inverse_m31(BatchInverseM31 {
        elements: words.view(),
        inverses: queue.zeros(33).unwrap().view_mut(),
        first_zero: flag.view_mut(),
    });
    assert_eq!(refused, length("batch_inverse_m31", "first_zero", 1, 2));
    assert_eq!(session.counters().launches, 1, "the twiddles alone");
}

/// The inner loops keep the form that the speed rests on: for each butterfly one product, a `min` for it, its sum and its difference, and
/// no compare-and-select.
#[test]
fn butterflies_reduce_by_minimum_and_never_select() {
    let text = include_str!("../../../../kernels-ptx/ptx/circle.ptx");
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
