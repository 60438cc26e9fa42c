//! Parameters and formulas of optimisers, and the device record read by their steps.

use core::fmt::Debug;

use bytemuck::{NoUninit, Pod, Zeroable};

use crate::params::sizes::{Sizes, sizes};

/// Gradients whose squares are added to one partial sum.
pub const PART: usize = 1 << 14;

/// How a rate changes after its warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, NoUninit)]
#[repr(u32)]
pub enum Anneal {
    /// It stays.
    Constant,
    /// It falls to the least in a straight line.
    Linear,
    /// It falls to the least along half a wave of a cosine.
    ///
    /// Source: Loshchilov, Hutter, "SGDR", 2017, without restarts.
    Cosine,
    /// It is multiplied by the factor after every period.
    Steps,
}

/// The rate as a function of the step.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct ScheduleParams {
    /// The rate at the end of the warm-up.
    pub rate: f64,
    /// The rate at the end of a fall.
    pub least: f64,
    /// Factor of the rate after every period of [`Anneal::Steps`].
    pub factor: f64,
    /// Steps over which the rate rises in a straight line: step t of them has `t / warmup` of it.
    pub warmup: u64,
    /// Steps from the end of the warm-up to the end of the fall; not 0.
    ///
    /// For [`Anneal::Steps`], the steps from one multiplication to the next.
    pub period: u64,
    /// What comes after the warm-up.
    pub anneal: Anneal,
    /// Keeps the record a multiple of eight bytes; zero.
    pub reserved: u32,
}

impl ScheduleParams {
    /// The rate of a step; steps count from 1.
    #[inline]
    #[must_use]
    pub fn rate(&self, step: u64) -> f64 {
        if step < self.warmup {
            return self.rate * (step as f64 / self.warmup as f64);
        }
        let since = step.saturating_sub(if self.warmup > 1 { self.warmup } else { 1 });
        let part = if since < self.period { since as f64 / self.period as f64 } else { 1.0 };
        match self.anneal {
            Anneal::Constant => self.rate,
            Anneal::Linear => self.rate + (self.least - self.rate) * part,
            Anneal::Cosine => self.least + (self.rate - self.least) * (0.5 + 0.5 * cos_pi(part)),
            Anneal::Steps => match since.checked_div(self.period) {
                Some(periods) => self.rate * power(self.factor, periods),
                None => self.rate,
            },
        }
    }
}

/// `cos(pi x)` for x from 0 to 1, within 2^-51: a Taylor polynomial up to half the interval.
#[inline]
#[must_use]
fn cos_pi(x: f64) -> f64 {
    let (x, sign) = if x > 0.5 { (1.0 - x, -1.0) } else { (x, 1.0) };
    let y = core::f64::consts::PI * x;
    let square = y * y;
    let (mut sum, mut n) = (1.0, 24i32);
    while n > 0 {
        sum = 1.0 - sum * square / f64::from(n * (n - 1));
        n -= 2;
    }
    sign * sum
}

/// `base^exponent`, by squaring.
#[inline]
#[must_use]
fn power(base: f64, exponent: u64) -> f64 {
    let (mut result, mut square, mut rest) = (1.0, base, exponent);
    while rest > 0 {
        if rest % 2 == 1 {
            result *= square;
        }
        square *= square;
        rest /= 2;
    }
    result
}

/// Parameters of a step other than the gradients: the transition of the record on the device.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct AdvanceParams {
    /// The rate.
    pub schedule: ScheduleParams,
    /// Share of the first moment that a step keeps; 0 if none is corrected.
    pub beta1: f64,
    /// Share of the second moment that a step keeps; 0 if none is corrected.
    pub beta2: f64,
    /// Part of each weight that a step takes away, in units of the rate.
    pub decay: f64,
    /// The norm that gradients are held to; infinite for any.
    pub clip: f64,
    /// Factor of the loss scale after `interval` steps in a row with finite gradients.
    pub growth: f32,
    /// Factor of the loss scale when gradients are not finite.
    pub backoff: f32,
    /// See `growth`; with 0 the loss scale stays as it is.
    pub interval: u32,
    /// Keeps the record a multiple of eight bytes; zero.
    pub reserved: u32,
}

sizes!(AdvanceParams {});

/// The device record read by the steps of an optimiser.
///
/// It holds the number of the next step and its values.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct StepState {
    /// Steps taken.
    pub step: u64,
    /// Steps left out, since gradients were not finite.
    pub skipped: u64,
    /// Norm of all gradients of the last step; 0 if it was not measured.
    ///
    /// It is without the loss scale and before clipping to the limit.
    pub norm: f64,
    /// Rate of the last step.
    pub rate: f64,
    /// Factor of the next loss, so that small gradients are not lost in 16 bits.
    pub loss_scale: f32,
    /// Steps in a row with finite gradients since the loss scale last changed.
    pub sound: u32,
    /// 1 if the last step is left out.
    pub skip: u32,
    /// Factor of the gradients of the last step.
    pub gradient: f32,
    /// Part of each weight that the last step takes away.
    pub fade: f32,
    /// Factor of the direction of the last step.
    ///
    /// It is the rate, with the correction of the first moment.
    pub size: f32,
    /// Factor of the root of the second moment in the last step: its correction.
    pub root: f32,
    /// Keeps the record a multiple of eight bytes; zero.
    pub reserved: u32,
}

impl StepState {
    /// Before the first step.
    #[must_use]
    pub const fn new(loss_scale: f32) -> Self {
        Self {
            step: 0,
            skipped: 0,
            norm: 0.0,
            rate: 0.0,
            loss_scale,
            sound: 0,
            skip: 0,
            gradient: 0.0,
            fade: 0.0,
            size: 0.0,
            root: 0.0,
            reserved: 0,
        }
    }

    /// Steps taken and left out, modulo 2^32: what tells the masks of a training's steps apart.
    #[inline]
    #[must_use]
    pub const fn begun(&self) -> u32 {
        self.step.wrapping_add(self.skipped) as u32
    }
}

impl AdvanceParams {
    /// The record of the step after `state`.
    ///
    /// `squares` is the sum of the squares of all gradients, if it was measured. Gradients are
    /// divided by the loss scale. If their norm is greater than the limit, they are multiplied by
    /// `clip / (norm + 10^-6)`, as PyTorch does. If the sum is not finite, the step is left out and
    /// the loss scale lowered.
    #[inline]
    #[must_use]
    pub fn advance(&self, state: StepState, squares: Option<f64>, sqrt: impl Fn(f64) -> f64) -> StepState {
        let mut next = state;
        let scale = f64::from(state.loss_scale);
        next.norm = match squares {
            Some(squares) => sqrt(squares) / scale,
            None => 0.0,
        };
        if let Some(squares) = squares
            && !squares.is_finite()
        {
            (next.skipped, next.skip, next.sound) = (state.skipped.wrapping_add(1), 1, 0);
            if self.interval > 0 {
                next.loss_scale = held(state.loss_scale * self.backoff, state.loss_scale);
            }
            return next;
        }
        (next.step, next.skip) = (state.step.wrapping_add(1), 0);
        if self.interval > 0 {
            next.sound = state.sound.wrapping_add(1);
            if next.sound >= self.interval {
                (next.sound, next.loss_scale) = (0, held(state.loss_scale * self.growth, state.loss_scale));
            }
        }
        let shrunk = self.clip / (next.norm + 1e-6);
        next.gradient = ((if shrunk < 1.0 { shrunk } else { 1.0 }) / scale) as f32;
        next.rate = self.schedule.rate(next.step);
        next.fade = (next.rate * self.decay) as f32;
        next.size = (next.rate / (1.0 - power(self.beta1, next.step))) as f32;
        next.root = (1.0 / sqrt(1.0 - power(self.beta2, next.step))) as f32;
        next
    }
}

/// A loss scale, if it and its inverse are normal; otherwise the one before.
#[inline]
fn held(scale: f32, before: f32) -> f32 {
    const GREATEST: f32 = 8.507_059e37; // 2^126
    if (1.0 / GREATEST..=GREATEST).contains(&scale) { scale } else { before }
}

/// A step of stochastic gradient descent.
///
/// With `g` the gradient times its factor plus `coupled w`: `v = momentum v + g` and
/// `w = w - (fade w + size d)`. d is v, or `g + momentum v` in Nesterov's form.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct SgdParams {
    /// The first `decayed` elements decay.
    pub decayed: u64,
    /// Share of the running sum of gradients that is kept.
    pub momentum: f32,
    /// Part of each weight that is added to its gradient.
    pub coupled: f32,
    /// 1 for Nesterov's form.
    pub nesterov: u32,
    /// Keeps the record a multiple of eight bytes; zero.
    pub reserved: u32,
}

sizes!(SgdParams { decayed });

/// A step of Adam.
///
/// With `g` the gradient times its factor plus `coupled w`: `m = m + (1 - beta1) (g - m)`,
/// `v = v + (1 - beta2) (g^2 - v)`, `w = w - (fade w + size m / (root sqrt(v) + eps))`.
///
/// Kingma, Ba, "Adam", 2015, algorithm 1; with `fade`, Loshchilov, Hutter, "Decoupled Weight Decay
/// Regularization", 2019, algorithm 2. [`StepState`] has the corrections of moments that began as
/// zeros.
#[derive(Clone, Copy, Debug, PartialEq, NoUninit)]
#[repr(C)]
pub struct AdamParams {
    /// The first `decayed` elements decay.
    pub decayed: u64,
    /// `1 - beta1`.
    pub rest1: f32,
    /// `1 - beta2`.
    pub rest2: f32,
    /// Added to the root of the second moment.
    pub eps: f32,
    /// Part of each weight that is added to its gradient.
    pub coupled: f32,
}

sizes!(AdamParams { decayed });

impl SgdParams {
    /// The running sum and the weight after a step.
    ///
    /// `decays` is 1 for an element that decays and 0 for another.
    #[inline(always)]
    #[must_use]
    pub fn step(&self, state: &StepState, decays: f32, g: f32, [v, w]: [f32; 2]) -> [f32; 2] {
        let g = g * state.gradient + decays * self.coupled * w;
        let v = self.momentum * v + g;
        let direction = if self.nesterov == 1 { self.momentum * v + g } else { v };
        [v, w - (decays * state.fade * w + state.size * direction)]
    }
}

impl AdamParams {
    /// The moments and the weight after a step.
    ///
    /// `decays` is 1 for an element that decays and 0 for another.
    #[inline(always)]
    #[must_use]
    pub fn step(
        &self,
        state: &StepState,
        sqrt: impl Fn(f32) -> f32,
        decays: f32,
        g: f32,
        [m, v, w]: [f32; 3],
    ) -> [f32; 3] {
        let g = g * state.gradient + decays * self.coupled * w;
        let m = m + self.rest1 * (g - m);
        let v = v + self.rest2 * (g * g - v);
        let direction = m / (sqrt(v) * state.root + self.eps);
        [m, v, w - (decays * state.fade * w + state.size * direction)]
    }
}

/// The record of steps does not depend on the data's sizes.
impl Sizes for StepState {
    fn each_size(&self, _: &'static str, _: &mut impl FnMut(&'static str, &dyn Debug)) {}
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn schedule(anneal: Anneal, warmup: u64, period: u64) -> ScheduleParams {
        ScheduleParams { rate: 0.5, least: 0.1, factor: 0.5, warmup, period, anneal, reserved: 0 }
    }

    #[test]
    fn rates_rise_and_fall_as_their_schedules_say() {
        let rates =
            |anneal, warmup, period, steps: [u64; 6]| steps.map(|step| schedule(anneal, warmup, period).rate(step));
        let close = |got: [f64; 6], want: [f64; 6]| {
            for (got, want) in got.into_iter().zip(want) {
                assert!((got - want).abs() < 1e-15, "{got}, expected {want}");
            }
        };
        close(rates(Anneal::Constant, 4, 1, [1, 2, 3, 4, 5, 1 << 60]), [0.125, 0.25, 0.375, 0.5, 0.5, 0.5]);
        close(rates(Anneal::Linear, 0, 4, [1, 2, 3, 4, 5, u64::MAX]), [0.5, 0.4, 0.3, 0.2, 0.1, 0.1]);
        close(rates(Anneal::Linear, 2, 2, [1, 2, 3, 4, 5, 6]), [0.25, 0.5, 0.3, 0.1, 0.1, 0.1]);
        close(rates(Anneal::Steps, 1, 2, [1, 2, 3, 4, 5, 7]), [0.5, 0.5, 0.25, 0.25, 0.125, 0.0625]);
        close(rates(Anneal::Steps, 1, 0, [1, 2, 3, 4, 5, 7]), [0.5; 6]);
        for step in 1..=14 {
            let part = (step.min(13) - 1) as f64 / 12.0;
            let want = 0.1 + 0.4 * (1.0 + (core::f64::consts::PI * part).cos()) / 2.0;
            assert!((schedule(Anneal::Cosine, 1, 12).rate(step) - want).abs() < 1e-15);
        }
    }

    #[test]
    fn cosines_and_powers_are_those_of_the_library() {
        for i in 0..=1000 {
            let x = f64::from(i) / 1000.0;
            assert!((cos_pi(x) - (core::f64::consts::PI * x).cos()).abs() < 4e-16, "{x}");
        }
        for step in [0u64, 1, 2, 3, 10, 1000, 1_000_000] {
            let (got, want) = (power(0.999, step), 0.999f64.powf(step as f64));
            assert!((got - want).abs() <= 1e-12 * want, "{step}: {got}, {want}");
        }
        assert_eq!(power(0.0, 0), 1.0);
        assert_eq!(power(0.9, u64::MAX), 0.0);
    }

    const PLAIN: AdvanceParams = AdvanceParams {
        schedule: ScheduleParams {
            rate: 0.1,
            least: 0.0,
            factor: 1.0,
            warmup: 0,
            period: 1,
            anneal: Anneal::Constant,
            reserved: 0,
        },
        beta1: 0.9,
        beta2: 0.99,
        decay: 0.5,
        clip: 2.0,
        growth: 2.0,
        backoff: 0.5,
        interval: 3,
        reserved: 0,
    };

    /// A table of loss scale, run length, steps taken and steps left out.
    ///
    /// Each entry follows gradients that were finite or not.
    #[test]
    fn the_loss_scale_follows_its_table() {
        let table: [(bool, f32, u32, u64, u64); 12] = [
            (true, 8.0, 1, 1, 0),
            (true, 8.0, 2, 2, 0),
            (true, 16.0, 0, 3, 0), // three in a row
            (true, 16.0, 1, 4, 0),
            (false, 8.0, 0, 4, 1), // begins again
            (false, 4.0, 0, 4, 2),
            (true, 4.0, 1, 5, 2),
            (true, 4.0, 2, 6, 2),
            (false, 2.0, 0, 6, 3),
            (true, 2.0, 1, 7, 3),
            (true, 2.0, 2, 8, 3),
            (true, 4.0, 0, 9, 3),
        ];
        for lost in [f64::INFINITY, f64::NAN] {
            let mut state = StepState::new(8.0);
            for (row, &(finite, scale, sound, step, skipped)) in table.iter().enumerate() {
                let before = state;
                state = PLAIN.advance(state, Some(if finite { 1.0 } else { lost }), f64::sqrt);
                assert_eq!((state.loss_scale, state.sound), (scale, sound), "row {row}");
                assert_eq!((state.step, state.skipped), (step, skipped), "row {row}");
                assert_eq!(state.skip, u32::from(!finite), "row {row}");
                if finite {
                    // the gradients at hand were made with the scale from before
                    assert_eq!(state.gradient, 1.0 / before.loss_scale);
                }
            }
        }
        // a scale stays where it is normal, and as it is without an interval
        let tiny = StepState::new(1.2e-38);
        assert_eq!(PLAIN.advance(tiny, Some(f64::NAN), f64::sqrt).loss_scale, 1.2e-38);
        let mut great = StepState { sound: 2, ..StepState::new(8e37) };
        great = PLAIN.advance(great, Some(1.0), f64::sqrt);
        assert_eq!((great.loss_scale, great.sound), (8e37, 0));
        let constant = AdvanceParams { interval: 0, ..PLAIN };
        let mut state = StepState::new(4.0);
        for squares in [1.0, f64::INFINITY, 1.0, 1.0, 1.0] {
            state = constant.advance(state, Some(squares), f64::sqrt);
            assert_eq!((state.loss_scale, state.sound), (4.0, 0));
        }
        assert_eq!((state.step, state.skipped), (4, 1));
    }

    #[test]
    fn gradients_are_held_to_their_norm_and_moments_corrected() {
        let state = PLAIN.advance(StepState::new(4.0), Some(1600.0), f64::sqrt);
        assert_eq!((state.norm, state.rate), (10.0, 0.1));
        assert!((f64::from(state.gradient) - 0.2 / 4.0).abs() < 1e-7);
        assert!(
            (state.fade - 0.05).abs() < 1e-8 && (state.size - 1.0).abs() < 1e-6 && (state.root - 10.0).abs() < 1e-5
        );
        let within = PLAIN.advance(StepState::new(1.0), Some(3.99), f64::sqrt);
        assert_eq!(within.gradient, 1.0);
        let unmeasured = PLAIN.advance(StepState::new(2.0), None, f64::sqrt);
        assert_eq!((unmeasured.norm, unmeasured.gradient, unmeasured.skip), (0.0, 0.5, 0));
        let late = PLAIN.advance(StepState { step: 1 << 40, ..StepState::new(1.0) }, None, f64::sqrt);
        assert_eq!((late.size, late.root), (0.1, 1.0));
    }
}
