//! Weights that were trained elsewhere, put into layers and networks.

use backend_api::{Buffer, Queue};
use nn_ops::{
    Mlp, NnError, OptimizerConfig, TensorMut, TensorRef,
    io::{Tensor, Tensors, read_safetensors, write_safetensors},
};
use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

/// Layers of 2 x 3 and 3 x 2, whose values no trainer gave.
fn tensors() -> Tensors {
    let tensor = |shape: &[usize], data: &[f32]| Tensor { shape: shape.to_vec(), data: data.to_vec() };
    Tensors::from([
        ("a.weight".to_owned(), tensor(&[2, 3], &[1.0, -1.0, 2.0, 0.5, 1.0, -3.0])),
        ("a.bias".to_owned(), tensor(&[3], &[0.25, 0.0, -1.0])),
        ("b.weight".to_owned(), tensor(&[3, 2], &[1.0, 0.0, 0.0, 1.0, -1.0, 2.0])),
        ("b.bias".to_owned(), tensor(&[2], &[0.5, -0.5])),
    ])
}

#[test]
fn a_network_computes_with_the_weights_that_it_was_given() {
    let q = runtime::cpu().unwrap();
    let given = read_safetensors(&write_safetensors(&tensors()).unwrap()).unwrap();
    let imported = Mlp::import(&q, &["a", "b"], &given).unwrap();
    let x = q.upload(&[0.4f32, 0.9, 3.0, 0.0]).unwrap();
    let x = TensorRef::contiguous(x.view(), &[2, 2]).unwrap();
    let expected = |x: [f32; 2]| {
        let hidden = [x[0] + 0.5 * x[1] + 0.25, x[1] - x[0], 2.0 * x[0] - 3.0 * x[1] - 1.0].map(|h| h.max(0.0));
        [hidden[0] - hidden[2] + 0.5, hidden[1] + 2.0 * hidden[2] - 0.5]
    };
    let mut logits = q.zeros::<f32>(4).unwrap();
    imported.forward(&q, x, TensorMut::contiguous(logits.view_mut(), &[2, 2]).unwrap()).unwrap();
    for (got, expected) in
        q.download(&logits).unwrap().into_iter().zip([expected([0.4, 0.9]), expected([3.0, 0.0])].concat())
    {
        assert!((got - expected).abs() < 1e-5, "{got}, expected {expected}");
    }
    assert_eq!(imported.tensors(&q, &["a", "b"]).unwrap(), tensors());
}

#[test]
fn weights_of_pytorch_are_turned() {
    let q = runtime::cpu().unwrap();
    let mut turned = tensors();
    turned.insert("a.weight".into(), Tensor { shape: vec![3, 2], data: vec![1.0, 0.5, -1.0, 1.0, 2.0, -3.0] });
    turned.insert("b.weight".into(), Tensor { shape: vec![2, 3], data: vec![1.0, 0.0, -1.0, 0.0, 1.0, 2.0] });
    let network = Mlp::from_torch(&q, &["a", "b"], &turned).unwrap();
    assert_eq!(network.tensors(&q, &["a", "b"]).unwrap(), tensors());
    // Messages name shapes as the file has them.
    let wrong = Mlp::from_torch(&q, &["b", "b"], &turned).unwrap_err();
    assert_eq!(wrong.to_string(), "tensor `b.weight`: `mlp` expected weight of shape [2, 2], got [2, 3]");
    turned.get_mut("a.weight").unwrap().data.pop();
    let short = Mlp::from_torch(&q, &["a", "b"], &turned).unwrap_err();
    assert_eq!(short.to_string(), "tensor `a.weight`: `parameter_arena` expected a tensor of 6 elements, got 5");
}

#[test]
fn an_imported_network_trains_as_the_one_that_it_came_from() {
    let q = runtime::cpu().unwrap();
    let first = Mlp::new(&q, &[3, 5, 2], &mut ChaCha8Rng::seed_from_u64(8)).unwrap();
    let names = ["first", "second"];
    let second = Mlp::import(&q, &names, &first.tensors(&q, &names).unwrap()).unwrap();
    let (x, y) = (q.upload(&[0.5f32, -1.0, 2.0, 1.0, 0.0, -0.25]).unwrap(), q.upload(&[1u32, 0]).unwrap());
    let [first, second] = [first, second].map(|mut network| {
        let mut training = network.training(&q, 2, OptimizerConfig::sgd(0.2, 0.5)).unwrap();
        for _ in 0..3 {
            let x = TensorRef::contiguous(x.view(), &[2, 3]).unwrap();
            let y = TensorRef::contiguous(y.view(), &[2]).unwrap();
            network.train_step(&q, &mut training, x, y).unwrap();
        }
        network.tensors(&q, &names).unwrap()
    });
    assert_eq!(first, second);
}

#[test]
fn weights_that_do_not_fit_are_refused_by_name() {
    let q = runtime::cpu().unwrap();
    let import = |change: &dyn Fn(&mut Tensors)| {
        let mut tensors = tensors();
        change(&mut tensors);
        Mlp::import(&q, &["a", "b"], &tensors).unwrap_err().to_string()
    };
    assert_eq!(import(&|tensors| drop(tensors.remove("b.bias"))), "there is no tensor `b.bias`");
    let reshaped =
        |name: &str, shape: &[usize]| import(&|tensors| tensors.get_mut(name).unwrap().shape = shape.to_vec());
    assert_eq!(reshaped("a.weight", &[6]), "tensor `a.weight`: `mlp` expected weight with 2 axes, got 1");
    assert_eq!(reshaped("a.bias", &[1, 3]), "tensor `a.bias`: `mlp` expected bias of shape [3], got [1, 3]");
    let square = "tensor `a.weight`: `parameter_arena` expected a tensor of 9 elements, got 6";
    assert_eq!(reshaped("a.weight", &[3, 3]), square);
    let short = import(&|tensors| tensors.get_mut("b.bias").unwrap().data.truncate(1));
    assert_eq!(short, "tensor `b.bias`: `parameter_arena` expected a tensor of 2 elements, got 1");

    let wrong = Mlp::import(&q, &["b", "b"], &tensors()).unwrap_err();
    assert_eq!(wrong.to_string(), "tensor `b.weight`: `mlp` expected weight of shape [2, 2], got [3, 2]");
    let none = Mlp::import(&q, &[], &tensors()).unwrap_err();
    assert!(matches!(none, NnError::Parameter { op: "mlp", name: "number of layers", .. }));
    let mut empty = tensors();
    empty.insert("e.weight".to_owned(), Tensor { shape: vec![0, 2], data: vec![] });
    empty.insert("e.bias".to_owned(), Tensor { shape: vec![2], data: vec![1.0, 2.0] });
    assert_eq!(Mlp::import(&q, &["e"], &empty).unwrap_err(), NnError::EmptyReduction { op: "mlp" });
}
