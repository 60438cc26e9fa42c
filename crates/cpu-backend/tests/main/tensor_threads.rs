//! Results of the tensor op set do not depend on the number of threads.

use backend_api::{
    Buffer, Queue,
    ops::{
        linalg::{Binary, ElementwiseOps},
        tensor::{ArgMax, CopyStrided, Narrow, Reduce, ScatterAdd, TensorOps},
    },
};
use core_types::params::{
    elementwise::{Binary as Arithmetic, BinaryParams},
    rows::AxisParams,
    tensor::{Beyond, CopyParams, ReduceParams, Reduction, TableParams},
};
use cpu_backend::CpuQueue;

use crate::levels::{expect_equal, strongest};

/// Values whose sums depend on their order, some of them beyond the range of binary16.
fn values(count: usize) -> Vec<f32> {
    (0..count).map(|i| ((i * 7919 + 13) % 2003) as f32 / 1001.0 * if i % 997 == 5 { 1e5 } else { 1.0 }).collect()
}

/// Bits of everything on `outer x len x inner` elements.
fn bits(q: &CpuQueue, [outer, len, inner]: [usize; 3]) -> Vec<u64> {
    let (count, outputs) = (outer * len * inner, outer * inner);
    let sizes = [outer as u64, len as u64, inner as u64];
    let x = q.upload(&values(count)).unwrap();
    let mut all = Vec::new();
    let mut keep = |values: Vec<f32>| all.extend(values.into_iter().map(|x| u64::from(x.to_bits())));
    for reduction in Reduction::ALL {
        let mut y = q.zeros::<f32>(outputs).unwrap();
        let params = ReduceParams { reduction, reserved: 0, outer: sizes[0], len: sizes[1], inner: sizes[2] };
        q.reduce(Reduce { params: &params, x: x.view(), y: y.view_mut() }).unwrap();
        keep(q.download(&y).unwrap());
    }
    let mut y = q.zeros::<f32>(count).unwrap();
    let shape = [sizes[0], sizes[1], sizes[2], 1, 1, 1];
    let strides = |s: [u64; 3]| [s[0], s[1], s[2], 0, 0, 0];
    let flat = strides([sizes[1] * sizes[2], sizes[2], 1]);
    for b_strides in [strides([0, 0, 1]), strides([sizes[1], 1, 0]), strides([0, 0, 0])] {
        let params = BinaryParams { op: Arithmetic::Mul, rank: 3, shape, a_strides: flat, b_strides };
        q.binary(Binary { params: &params, a: Some(x.view()), b: x.view(), y: y.view_mut() }).unwrap();
        keep(q.download(&y).unwrap());
    }
    let y_strides = strides([1, sizes[0], sizes[0] * sizes[1]]);
    let params = CopyParams { rank: 3, reserved: 0, shape, x_strides: flat, y_strides };
    q.copy_strided(CopyStrided { params: &params, x: x.view(), y: y.view_mut() }).unwrap();
    keep(q.download(&y).unwrap());

    // Rows of g go to the first half of the table, over and over.
    let width = len * inner;
    let indices: Vec<u32> = (0..outer).map(|i| (i * 7 % outer.div_ceil(2)) as u32).collect();
    let mut order: Vec<u32> = (0..outer as u32).collect();
    order.sort_by_key(|&place| indices[place as usize]);
    let (indices, order) = (q.upload(&indices).unwrap(), q.upload(&order).unwrap());
    let params = TableParams { rows: sizes[0], width: width as u64, count: sizes[0] };
    let (indices, order, g) = (indices.view(), order.view(), x.view());
    q.scatter_add(ScatterAdd { params: &params, indices, order, g, table: y.view_mut() }).unwrap();
    keep(q.download(&y).unwrap());

    let mut places = q.zeros::<u32>(outputs).unwrap();
    let params = AxisParams { outer: sizes[0], len: sizes[1], inner: sizes[2] };
    q.arg_max(ArgMax { params: &params, x: x.view(), y: places.view_mut() }).unwrap();
    all.extend(q.download(&places).unwrap().into_iter().map(u64::from));
    let (mut short, mut found) = (q.zeros::<half::f16>(count).unwrap(), q.upload(&[0, u64::MAX]).unwrap());
    let (beyond, y, counted) = (Beyond::Saturated, short.view_mut(), Some(found.view_mut()));
    q.narrow(Narrow { beyond, x: x.view(), y, found: counted }).unwrap();
    all.extend(q.download(&short).unwrap().into_iter().map(|x| u64::from(x.to_bits())));
    all.extend(q.download(&found).unwrap());
    all
}

#[test]
fn bits_are_those_of_one_thread() {
    let queues = [1, 2, 5].map(strongest);
    for shape in [[3, 70_001, 1], [700, 300, 1], [1, 900, 700], [30, 40, 300], [5, 9000, 7]] {
        expect_equal(&queues, &format!("{shape:?}"), |q| bits(q, shape));
    }
}
