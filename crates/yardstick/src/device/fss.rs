//! Device speed of making comparison keys, and of evaluating comparison and payload keys.

use backend_api::{
    BackendError, Buffer, Queue,
    ops::fss::{self, CmpEvalAll, CmpEvalWindow, CmpGen, DcfEvalWindow, DcfGen, DcfKeys, FssOps},
};
use core_types::{
    Label, PrgKeys,
    cmp::{CMP_TABLE_BITS, cmp_blocks, cmp_levels},
    params::fss::{CmpAllParams, CmpGenParams, CmpWindowParams, DcfGenParams, DcfWindowParams, padded},
};
use runtime::{AnyBuf, AnyQueue};

use super::{DeviceError, DeviceLine, Extent, RunSize, words};

const NONCE: [u8; 16] = [7; 16];

pub(super) fn lines(extent: Extent) -> Vec<DeviceLine> {
    let (wide, narrow, all, dcf, few) = match extent {
        Extent::Full => (1 << 20, 1 << 22, 1 << 16, 1 << 18, 1 << 15),
        Extent::Small => (64, 64, 64, 64, 64),
    };
    let single = KeyPoints { points: 1, within: 0 };
    // the number of points at which a function of 32 pieces compares its input
    let pieces = KeyPoints { points: 32, within: 15 };
    let comparisons = [cmp_eval(64, wide, single), cmp_eval(12, narrow, single), cmp_eval(64, all, pieces)];
    let all_points = [cmp_eval_all(8, wide), cmp_eval_all(13, all)];
    let payloads = [dcf_eval(64, dcf, single), dcf_eval(64, few, pieces)];
    comparisons.into_iter().chain(all_points).chain([cmp_gen(64, wide)]).chain(payloads).collect()
}

/// The number of points at which each key is evaluated, and their window.
///
/// The window of 2^`within` points contains them.
#[derive(Clone, Copy)]
struct KeyPoints {
    points: u32,
    within: u32,
}

impl KeyPoints {
    /// Offsets over the whole window.
    fn offsets(self) -> Vec<u64> {
        let step = (1u64 << self.within) / u64::from(self.points);
        (0..u64::from(self.points)).map(|j| j * step).collect()
    }

    /// The width of the window for trees of `bits` bits that end `leaf` levels early.
    ///
    /// For a single point, the window has all points.
    fn window(self, bits: u32, leaf: u32) -> u32 {
        if self.points == 1 { bits } else { self.within.max(leaf) }
    }

    /// The name of a line of `op`.
    fn line(self, op: &str, bits: u32, count: u32) -> String {
        match self.points {
            1 => format!("pfss.{op}({bits})/{count}"),
            points => format!("pfss.{op}({bits}), {points} points within 2^{}/{count}", self.within),
        }
    }
}

/// Roots of both parties.
fn roots(q: &AnyQueue, count: u32) -> Result<AnyBuf<Label>, DeviceError> {
    let words = words(4 * padded(count), 1);
    let labels: Vec<_> =
        words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect();
    Ok(q.upload(&labels)?)
}

/// CMP keys made on the device.
struct DeviceCmpKeys {
    params: CmpGenParams,
    alphas: AnyBuf<u64>,
    roots: AnyBuf<Label>,
    corrections: AnyBuf<u128>,
    leaves: AnyBuf<u128>,
}

impl DeviceCmpKeys {
    fn new(q: &AnyQueue, bits: u32, count: u32) -> Result<Self, DeviceError> {
        let key = PrgKeys::from_nonce(NONCE).child;
        let mut keys = Self {
            params: CmpGenParams { key, bits, count, reserved: [0; 2] },
            alphas: q.upload(&words(count as usize, 2))?,
            roots: roots(q, count)?,
            corrections: q.zeros(cmp_levels(bits) as usize * padded(count))?,
            leaves: q.zeros(2 * padded(count))?,
        };
        keys.generate(q)?;
        Ok(keys)
    }

    fn generate(&mut self, q: &AnyQueue) -> Result<(), DeviceError> {
        Ok(q.cmp_gen(CmpGen {
            params: &self.params,
            alphas: self.alphas.view(),
            roots: self.roots.view(),
            corrections: self.corrections.view_mut(),
            leaves: self.leaves.view_mut(),
        })?)
    }

    /// The keys of party 0.
    fn view(&self) -> Result<fss::CmpKeys<'_, AnyQueue>, BackendError> {
        Ok(fss::CmpKeys {
            roots: self.roots.slice(0..padded(self.params.count))?,
            corrections: self.corrections.view(),
            leaves: self.leaves.view(),
        })
    }
}

/// Bytes that the evaluation of a key reads.
///
/// They are a root, its corrections, two leaves and a masked input.
fn cmp_bytes(bits: u32, count: u32) -> f64 {
    f64::from(count) * (16.0 * f64::from(1 + cmp_levels(bits) + 2) + 8.0)
}

fn cmp_eval(bits: u32, count: u32, at: KeyPoints) -> DeviceLine {
    let bytes = cmp_bytes(bits, count);
    let work = f64::from(count) * f64::from(at.points);
    let size = RunSize { unit: "evaluation", work, bytes, resident: bytes };
    DeviceLine::new(at.line("cmp_eval_window", bits, count), size, move |q| {
        let keys = DeviceCmpKeys::new(q, bits, count)?;
        let CmpGenParams { key, .. } = keys.params;
        let (points, window) = (at.points, at.window(bits, CMP_TABLE_BITS));
        let params = CmpWindowParams { key, bits, party: 0, count, points, window, reserved: [0; 3] };
        let (x_hat, offsets) = (q.upload(&words(count as usize, 3))?, q.upload(&at.offsets())?);
        let mut shares = q.zeros(points as usize * padded(count) / 32)?;
        Ok(Box::new(move |q| {
            let (keys, x_hat, offsets) = (keys.view()?, x_hat.view(), offsets.view());
            Ok(q.cmp_eval_window(CmpEvalWindow { params: &params, keys, x_hat, offsets, shares: shares.view_mut() })?)
        }))
    })
}

/// Keys that are evaluated at every point; each writes a bit for each point.
fn cmp_eval_all(bits: u32, count: u32) -> DeviceLine {
    let blocks = cmp_blocks(bits);
    let bytes = f64::from(count) * 16.0 * f64::from(1 + cmp_levels(bits) + 2 + blocks as u32);
    let size = RunSize { unit: "key", work: f64::from(count), bytes, resident: bytes };
    DeviceLine::new(format!("pfss.cmp_eval_all({bits})/{count}"), size, move |q| {
        let keys = DeviceCmpKeys::new(q, bits, count)?;
        let CmpGenParams { key, .. } = keys.params;
        let params = CmpAllParams { key, bits, party: 0, count, first: 0, keys: count, reserved: [0; 3] };
        let mut units = q.zeros(blocks as usize * count as usize)?;
        Ok(Box::new(move |q| {
            Ok(q.cmp_eval_all(CmpEvalAll { params: &params, keys: keys.view()?, units: units.view_mut() })?)
        }))
    })
}

fn cmp_gen(bits: u32, count: u32) -> DeviceLine {
    let size = RunSize { unit: "key pair", work: f64::from(count), bytes: 0.0, resident: cmp_bytes(bits, count) };
    DeviceLine::new(format!("pfss.cmp_gen({bits})/{count}"), size, move |q| {
        let mut keys = DeviceCmpKeys::new(q, bits, count)?;
        Ok(Box::new(move |q| keys.generate(q)))
    })
}

fn dcf_eval(bits: u32, count: u32, at: KeyPoints) -> DeviceLine {
    // a root, a correction and its word for each level, the last word and a masked input; and the results
    let resident = f64::from(count) * (16.0 + 24.0 * f64::from(bits) + 16.0 + 8.0 * f64::from(at.points));
    let work = f64::from(count) * f64::from(at.points);
    let size = RunSize { unit: "evaluation", work, bytes: 0.0, resident };
    DeviceLine::new(at.line("dcf_eval_window", bits, count), size, move |q| {
        let row = padded(count);
        let keys = PrgKeys::from_nonce(NONCE);
        let (party, points, len, width, window) = (0, at.points, 1, 64, at.window(bits, 0));
        let params = DcfWindowParams { keys, bits, party, count, points, words: len, width, window, reserved: 0 };
        let (alphas, betas) = (q.upload(&words(count as usize, 2))?, q.upload(&words(count as usize, 4))?);
        let roots = roots(q, count)?;
        let mut corrections = q.zeros(bits as usize * row)?;
        let (mut values, mut last) = (q.zeros(bits as usize * row)?, q.zeros(row)?);
        q.dcf_gen(DcfGen {
            params: &DcfGenParams { keys, bits, count, words: len, width },
            alphas: alphas.view(),
            betas: betas.view(),
            roots: roots.view(),
            corrections: corrections.view_mut(),
            values: values.view_mut(),
            last: last.view_mut(),
        })?;
        let (x_hat, offsets) = (q.upload(&words(count as usize, 3))?, q.upload(&at.offsets())?);
        let mut shares = q.zeros(points as usize * count as usize)?;
        Ok(Box::new(move |q| {
            let (roots, corrections) = (roots.slice(0..row)?, corrections.view());
            let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
            let (x_hat, offsets, shares) = (x_hat.view(), offsets.view(), shares.view_mut());
            Ok(q.dcf_eval_window(DcfEvalWindow { params: &params, keys, x_hat, offsets, shares })?)
        }))
    })
}
