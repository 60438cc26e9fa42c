//! Functions of single elements and of two, and conversions.

use backend_api::Real;
use half::{bf16, f16};
use nn_ops::{Activation, Binary, Map, Overflow, Tensor, activate, activate_backward, binary, map, narrow, widen};

use super::{CLOSE, Goldens};

pub(super) fn hold(g: &Goldens) {
    activations(g);
    maps(g);
    pairs(g);
    narrowed::<f16>(g, "f16");
    narrowed::<bf16>(g, "bf16");
}

fn activations(g: &Goldens) {
    let (q, x, upstream) = (&g.q, g.input("elements/x"), g.input("elements/g"));
    for f in Activation::ALL.into_iter().filter(|&f| f != Activation::Identity) {
        let (mut y, mut dx) = (g.room(&[96]), g.room(&[96]));
        activate(q, f, x.at(), y.at_mut()).unwrap();
        let saved = if f.saves_output() { y.at() } else { x.at() };
        activate_backward(q, f, saved, upstream.at(), dx.at_mut()).unwrap();
        g.hold(&format!("{}/y", f.name()), &y, CLOSE);
        g.hold(&format!("{}/d_x", f.name()), &dx, CLOSE);
    }
}

fn maps(g: &Goldens) {
    let (x, positive) = (g.input("elements/x"), g.input("elements/positive"));
    for (name, f, of) in [
        ("neg", Map::Neg, &x),
        ("abs", Map::Abs, &x),
        ("exp", Map::Exp, &x),
        ("log", Map::Log, &positive),
        ("sqrt", Map::Sqrt, &positive),
        ("rsqrt", Map::Rsqrt, &positive),
        ("recip", Map::Recip, &positive),
        ("clamp", Map::Clamp { low: -1.5, high: 2.25 }, &x),
        ("huber", Map::Huber { delta: 1.25 }, &x),
    ] {
        let mut y = g.room(&[96]);
        map(&g.q, f, of.at(), y.at_mut()).unwrap();
        g.hold(&format!("map.{name}/y"), &y, (1e-6, 1e-7));
    }
}

fn pairs(g: &Goldens) {
    let (a, b) = (g.input("binary/a"), g.input("binary/b"));
    for op in Binary::ALL {
        let mut y = g.room(&[3, 5, 4]);
        binary(&g.q, op, a.at(), b.at(), y.at_mut()).unwrap();
        g.hold(&format!("binary.{op:?}/y"), &y, (1e-6, 0.0));
    }
}

/// Rounded to the nearest, ties to even; values beyond the range become infinite.
fn narrowed<T: Real>(g: &Goldens, name: &str) {
    let (x, mut y) = (g.input("cast/x"), g.room(&[96]));
    let mut narrowed = Tensor::<_, T>::alloc(&g.q, &[96]).unwrap();
    narrow(&g.q, Overflow::Infinite, x.at(), narrowed.at_mut()).unwrap();
    widen(&g.q, narrowed.at(), y.at_mut()).unwrap();
    g.hold(&format!("cast.{name}/y"), &y, (0.0, 0.0));
}
