use backend_api::{
    BackendError, Buffer, Queue,
    ops::fss::{self, AesCtrFill, CmpEval, CmpEvalAll, CmpGen, DcfEval, DcfGen, DcfKeys, FssOps},
};
use core_types::{
    AesKey, Label, PrgKeys,
    cmp::{cmp_blocks, cmp_levels},
    params::fss::{AesCtrParams, CmpAllParams, CmpParams, DcfParams, padded},
};

use super::{DeviceError, DeviceLine, Extent, Size, words};

const NONCE: [u8; 16] = [7; 16];

pub(super) fn lines<Q: FssOps + 'static>(extent: Extent) -> Vec<DeviceLine<Q>> {
    let (wide, narrow, all, dcf, stream) = match extent {
        Extent::Full => (1 << 20, 1 << 22, 1 << 16, 1 << 18, 1 << 26),
        Extent::Small => (64, 64, 64, 64, 1 << 8),
    };
    let comparisons = [cmp_eval(64, wide), cmp_eval(12, narrow), cmp_eval_all(8, wide), cmp_eval_all(13, all)];
    comparisons.into_iter().chain([cmp_gen(64, wide), dcf_eval(64, dcf), aes_ctr(stream)]).collect()
}

/// Roots of both parties.
fn roots<Q: Queue>(q: &Q, count: u32) -> Result<Q::Buf<Label>, DeviceError> {
    let words = words(4 * padded(count), 1);
    let labels: Vec<_> =
        words.chunks(2).map(|pair| Label::new(u128::from(pair[0]) << 64 | u128::from(pair[1]))).collect();
    Ok(q.upload(&labels)?)
}

/// CMP keys made on the device.
struct CmpKeys<Q: Queue> {
    params: CmpParams,
    alphas: Q::Buf<u64>,
    roots: Q::Buf<Label>,
    corrections: Q::Buf<u128>,
    leaves: Q::Buf<u128>,
}

impl<Q: FssOps> CmpKeys<Q> {
    fn new(q: &Q, bits: u32, count: u32) -> Result<Self, DeviceError> {
        let key = PrgKeys::from_nonce(NONCE).child;
        let mut keys = Self {
            params: CmpParams { key, bits, party: 0, count, points: 1 },
            alphas: q.upload(&words(count as usize, 2))?,
            roots: roots(q, count)?,
            corrections: q.zeros(cmp_levels(bits) as usize * padded(count))?,
            leaves: q.zeros(2 * padded(count))?,
        };
        keys.generate(q)?;
        Ok(keys)
    }

    fn generate(&mut self, q: &Q) -> Result<(), DeviceError> {
        Ok(q.cmp_gen(CmpGen {
            params: &self.params,
            alphas: self.alphas.view(),
            roots: self.roots.view(),
            corrections: self.corrections.view_mut(),
            leaves: self.leaves.view_mut(),
        })?)
    }

    /// Those of party 0.
    fn view(&self) -> Result<fss::CmpKeys<'_, Q>, BackendError> {
        Ok(fss::CmpKeys {
            roots: self.roots.slice(0..padded(self.params.count))?,
            corrections: self.corrections.view(),
            leaves: self.leaves.view(),
        })
    }
}

/// Bytes that one evaluation reads: a root, its corrections, two leaves and a point.
fn cmp_bytes(bits: u32, count: u32) -> f64 {
    f64::from(count) * (16.0 * f64::from(1 + cmp_levels(bits) + 2) + 8.0)
}

fn cmp_eval<Q: FssOps + 'static>(bits: u32, count: u32) -> DeviceLine<Q> {
    let bytes = cmp_bytes(bits, count);
    let size = Size { unit: "evaluation", work: f64::from(count), bytes, resident: bytes };
    DeviceLine::new(format!("pfss.cmp_eval({bits})/{count}"), size, move |q: &Q| {
        let keys = CmpKeys::new(q, bits, count)?;
        let points = q.upload(&words(count as usize, 3))?;
        let mut shares = q.zeros(padded(count) / 32)?;
        Ok(Box::new(move |q: &Q| {
            let (params, keys, points) = (keys.params, keys.view()?, points.view());
            Ok(q.cmp_eval(CmpEval { params: &params, keys, points, shares: shares.view_mut() })?)
        }))
    })
}

/// Keys that are evaluated at every point, each of which writes a bit for it.
fn cmp_eval_all<Q: FssOps + 'static>(bits: u32, count: u32) -> DeviceLine<Q> {
    let blocks = cmp_blocks(bits);
    let bytes = f64::from(count) * 16.0 * f64::from(1 + cmp_levels(bits) + 2 + blocks as u32);
    let size = Size { unit: "key", work: f64::from(count), bytes, resident: bytes };
    DeviceLine::new(format!("pfss.cmp_eval_all({bits})/{count}"), size, move |q: &Q| {
        let keys = CmpKeys::new(q, bits, count)?;
        let CmpParams { key, party, .. } = keys.params;
        let params = CmpAllParams { key, bits, party, count, first: 0, keys: count, reserved: [0; 3] };
        let mut units = q.zeros(blocks as usize * count as usize)?;
        Ok(Box::new(move |q: &Q| {
            Ok(q.cmp_eval_all(CmpEvalAll { params: &params, keys: keys.view()?, units: units.view_mut() })?)
        }))
    })
}

fn cmp_gen<Q: FssOps + 'static>(bits: u32, count: u32) -> DeviceLine<Q> {
    let size = Size { unit: "key pair", work: f64::from(count), bytes: 0.0, resident: cmp_bytes(bits, count) };
    DeviceLine::new(format!("pfss.cmp_gen({bits})/{count}"), size, move |q: &Q| {
        let mut keys = CmpKeys::new(q, bits, count)?;
        Ok(Box::new(move |q: &Q| keys.generate(q)))
    })
}

fn dcf_eval<Q: FssOps + 'static>(bits: u32, count: u32) -> DeviceLine<Q> {
    // a root, a correction and its word for each level, the last word, a point and a result
    let resident = f64::from(count) * (16.0 + 24.0 * f64::from(bits) + 24.0);
    let size = Size { unit: "evaluation", work: f64::from(count), bytes: 0.0, resident };
    DeviceLine::new(format!("pfss.dcf_eval({bits})/{count}"), size, move |q: &Q| {
        let row = padded(count);
        let keys = PrgKeys::from_nonce(NONCE);
        let params = DcfParams { keys, bits, party: 0, count, points: 1, words: 1, width: 64, reserved: [0; 2] };
        let (alphas, betas) = (q.upload(&words(count as usize, 2))?, q.upload(&words(count as usize, 4))?);
        let roots = roots(q, count)?;
        let mut corrections = q.zeros(bits as usize * row)?;
        let (mut values, mut last) = (q.zeros(bits as usize * row)?, q.zeros(row)?);
        q.dcf_gen(DcfGen {
            params: &params,
            alphas: alphas.view(),
            betas: betas.view(),
            roots: roots.view(),
            corrections: corrections.view_mut(),
            values: values.view_mut(),
            last: last.view_mut(),
        })?;
        let points = q.upload(&words(count as usize, 3))?;
        let mut shares = q.zeros(count as usize)?;
        Ok(Box::new(move |q: &Q| {
            let (roots, corrections) = (roots.slice(0..row)?, corrections.view());
            let keys = DcfKeys { roots, corrections, values: values.view(), last: last.view() };
            Ok(q.dcf_eval(DcfEval { params: &params, keys, points: points.view(), shares: shares.view_mut() })?)
        }))
    })
}

fn aes_ctr<Q: FssOps + 'static>(count: usize) -> DeviceLine<Q> {
    let bytes = 8.0 * count as f64;
    let size = Size { unit: "byte", work: bytes, bytes, resident: bytes };
    DeviceLine::new(format!("pfss.aes_ctr_fill/{count}"), size, move |q: &Q| {
        let mut stream = q.zeros(count)?;
        let params = AesCtrParams { key: AesKey::new(NONCE), first: 0 };
        Ok(Box::new(move |q: &Q| Ok(q.aes_ctr_fill(AesCtrFill { params: &params, words: stream.view_mut() })?)))
    })
}
