//! Optimizer steps, as loops over blocks of f32.
//!
//! The loops widen gradients and round the copy on the way.
//!
//! Adam: `m += (1 - beta1) (g - m)`, `v += (1 - beta2) (g^2 - v)`, and
//! `w -= fade w + size m / (root sqrt(v) + eps)`, where `size`, which includes the rate, and `root`
//! correct the moments (Kingma, Ba, 2015, algorithm 1) and `fade` is the rate times the decay
//! (Loshchilov, Hutter, 2019, algorithm 2). SGD: `v = momentum v + g`, and `w -= fade w + size v`,
//! or `g + momentum v` for `v` in Nesterov's form.

use backend_api::Real;
use core_types::params::optim::{AdamParams, SgdParams, StepState};

use crate::{
    CpuQueue,
    linalg::convert::{BLOCK, as_f32, narrowed, widened},
    par::CHUNK,
    simd::{LaneKernel, Simd, dispatch, floats::Floats},
};

/// An optimizer with `N` values of state per weight.
pub(super) trait Optimizer<const N: usize>: Sync {
    /// The record that the step reads.
    fn state(&self) -> &StepState;

    /// The number of leading elements that decay.
    fn decayed(&self) -> u64;

    /// Takes a step on slices of equal length.
    ///
    /// All elements decay if `decays` is 1, and none if it is 0.
    fn run(&self, simd: Simd, decays: f32, g: &[f32], beside: [&mut [f32]; N], w: &mut [f32]);
}

/// Adam.
pub(super) struct Adam<'a> {
    pub(super) params: &'a AdamParams,
    pub(super) state: &'a StepState,
}

/// Gradient descent with running sums.
pub(super) struct Momentum<'a> {
    pub(super) params: &'a SgdParams,
    pub(super) state: &'a StepState,
}

/// Gradient descent without.
pub(super) struct Plain<'a> {
    pub(super) params: &'a SgdParams,
    pub(super) state: &'a StepState,
}

/// A step on slices of one length.
struct Slices<'a, P, const N: usize> {
    step: &'a P,
    decays: f32,
    g: &'a [f32],
    beside: [&'a mut [f32]; N],
    w: &'a mut [f32],
}

macro_rules! steps {
    ($($name:ident [$($beside:ident),*] $count:literal ($p:ident, $s:ident, $decays:ident, $g:ident, $old:ident) $values:expr;)*) => {$(
        impl Optimizer<$count> for $name<'_> {
            fn state(&self) -> &StepState {
                self.state
            }

            fn decayed(&self) -> u64 {
                self.params.decayed
            }

            fn run(&self, simd: Simd, decays: f32, g: &[f32], beside: [&mut [f32]; $count], w: &mut [f32]) {
                dispatch(simd, Slices { step: self, decays, g, beside, w });
            }
        }

        impl<L: Floats> LaneKernel<L> for Slices<'_, $name<'_>, $count> {
            type Out = ();

            /// Runs a plain loop, compiled with the level's instructions.
            ///
            /// The compiler may use all of them, square roots included: parameters and record are
            /// copies, which no write to the slices can reach.
            #[inline(always)]
            fn run(self, _: L) {
                let Self { step: &$name { params: &$p, state: &$s }, decays: $decays, g, beside: [$($beside),*], w } = self;
                let n = g.len();
                let w = &mut w[..n];
                $(let $beside = &mut $beside[..n];)*
                for i in 0..n {
                    let ($g, $old) = (g[i], [$($beside[i],)* w[i]]);
                    [$($beside[i],)* w[i]] = $values;
                }
            }
        }
    )*};
}

steps! {
    Adam [m, v] 2 (p, s, decays, g, old) p.step(&s, f32::sqrt, decays, g, old);
    Momentum [v] 1 (p, s, decays, g, old) p.step(&s, decays, g, old);
    Plain [] 0 (p, s, decays, g, old) {
        let [_, w] = p.step(&s, decays, g, [0.0, old[0]]);
        [w]
    };
}

/// Gradients of either type.
type Gradients<'a, T> = (Option<&'a [T]>, Option<&'a [f32]>);

/// A part of the elements.
struct WeightPart<'a, T, const N: usize> {
    first: usize,
    g: Gradients<'a, T>,
    beside: [&'a mut [f32]; N],
    w: &'a mut [f32],
    copy: Option<&'a mut [T]>,
}

impl<'a, T: Real, const N: usize> WeightPart<'a, T, N> {
    /// Takes the first `count` elements away.
    fn split_off(&mut self, count: usize) -> Self {
        let now = Self {
            first: self.first,
            g: (self.g.0.map(|g| &g[..count]), self.g.1.map(|g| &g[..count])),
            beside: self.beside.each_mut().map(|beside| take(beside, count)),
            w: take(&mut self.w, count),
            copy: self.copy.as_mut().map(|copy| take(copy, count)),
        };
        self.first += count;
        self.g = (self.g.0.map(|g| &g[count..]), self.g.1.map(|g| &g[count..]));
        now
    }

    /// Steps through the part: at once if nothing has to be converted, else in blocks.
    fn run(mut self, simd: Simd, step: &impl Optimizer<N>) {
        let decayed = usize::try_from(step.decayed()).unwrap_or(usize::MAX);
        let mut wide = [0.0; BLOCK];
        while !self.w.is_empty() {
            let g = self.g.1.or_else(|| self.g.0.and_then(as_f32));
            let most = if g.is_some() && self.copy.is_none() { self.w.len() } else { BLOCK.min(self.w.len()) };
            let decays = self.first < decayed;
            let count = if decays { most.min(decayed - self.first) } else { most };
            let now = self.split_off(count);
            let g = match (g, now.g.0) {
                (Some(g), _) => &g[..count],
                (None, Some(g)) => {
                    widened(simd, g, &mut wide[..count]);
                    &wide[..count]
                }
                (None, None) => return, // `check` has seen gradients
            };
            step.run(simd, f32::from(u8::from(decays)), g, now.beside, now.w);
            if let Some(copy) = now.copy {
                narrowed(simd, now.w, copy);
            }
        }
    }
}

/// The first `count` elements, taken from the rest.
fn take<'a, T>(rest: &mut &'a mut [T], count: usize) -> &'a mut [T] {
    let (now, later) = core::mem::take(rest).split_at_mut(count);
    *rest = later;
    now
}

impl CpuQueue {
    /// A step of all elements, unless the record leaves it out. Views are as long as the weights.
    pub(super) fn update<T: Real, const N: usize>(
        &self,
        step: &impl Optimizer<N>,
        g: Gradients<'_, T>,
        beside: [&mut [f32]; N],
        w: &mut [f32],
        copy: Option<&mut [T]>,
    ) {
        if step.state().skip == 1 {
            return;
        }
        let mut rest = WeightPart { first: 0, g, beside, w, copy };
        let mut parts = Vec::with_capacity(rest.w.len().div_ceil(CHUNK));
        while !rest.w.is_empty() {
            let count = CHUNK.min(rest.w.len());
            parts.push(rest.split_off(count));
        }
        let simd = self.simd();
        self.for_jobs(parts, |_, part| part.run(simd, step));
    }
}
