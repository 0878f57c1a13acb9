//! Ensembles of decision trees, as products of matrices (Nakandala et al. 2020, "A Tensor Compiler for Unified Machine Learning
//! Prediction Serving", section 4.1): every condition of a tree is evaluated, and a leaf is reached if the conditions
//! on its path are those that lead to it. The values of the leaves are parameters.

use std::collections::HashMap;

use super::super::call::{Call, Outputs, integers, number};
use super::super::known::{Element, Known};
use super::super::value::Value;
use super::classic::{columns, transformed};
use super::shape::{permuted, reshaped};
use super::{Operator, but};
use crate::error::Result;
use crate::graph::ObservedArgument::{Bool, None as Absent};
use crate::graph::view::checked_length;

pub const TABLE: &[Operator] = &[
    but("TreeEnsembleClassifier", "labels; several modes of conditions", classifier),
    but(
        "TreeEnsembleRegressor",
        "the aggregates MIN and MAX; several modes of conditions; a post_transform of one target",
        regressor,
    ),
];

/// Most answers on the ways to all leaves.
const MOST: usize = 1 << 25;
/// Leads from no leaf that is there.
const NEVER: f64 = -1.0;
/// Conditions on the longest way of a tree.
const DEEPEST: usize = 1 << 10;

/// A condition or leaf of a tree.
struct Node {
    feature: i64,
    threshold: f64,
    is_leaf: bool,
    /// Whether a feature that is NaN goes the way of a true condition.
    takes_missing: bool,
    /// The next node if the condition is true, or false.
    next: [i64; 2],
}

/// Trees with as many conditions and leaves each as the largest has.
struct Trees {
    count: usize,
    conditions: usize,
    leaves: usize,
    /// LibTorch's comparison of a feature with its threshold.
    comparison: &'static str,
    /// [trees, conditions]
    features: Vec<i64>,
    thresholds: Vec<f64>,
    takes_missing: Vec<bool>,
    /// [trees, conditions, leaves]: 1 where the leaf lies behind a true condition, -1 behind a false one.
    ways: Vec<f64>,
    /// [trees, leaves]: true conditions before the leaf.
    needed: Vec<f64>,
    /// Place of a leaf in [trees, leaves], by tree and node.
    places: HashMap<(i64, i64), usize>,
}

fn list(call: &Call, name: &str) -> Result<Vec<i64>> {
    call.integers(name)?.ok_or_else(|| call.wrong(format!("attribute {name} is missing")))
}

/// The nodes of each tree, by their numbers.
type Forest = Vec<(i64, HashMap<i64, Node>, i64)>;

/// Trees with the number of their first node, and the comparison that all conditions make.
fn forest(call: &Call) -> Result<(Forest, &'static str)> {
    let [trees, nodes, features] = ["nodes_treeids", "nodes_nodeids", "nodes_featureids"].map(|name| list(call, name));
    let [yes, no] = ["nodes_truenodeids", "nodes_falsenodeids"].map(|name| list(call, name));
    let (trees, nodes, features, yes, no) = (trees?, nodes?, features?, yes?, no?);
    let thresholds = call.floats("nodes_values")?.unwrap_or_default();
    let modes = call.texts("nodes_modes")?;
    let lengths = [nodes.len(), features.len(), yes.len(), no.len(), thresholds.len(), modes.len()];
    if lengths != [trees.len(); 6] {
        return Err(call.wrong("attributes of nodes of different lengths"));
    }
    let missing = call.integers("nodes_missing_value_tracks_true")?.filter(|list| !list.is_empty());
    if missing.as_ref().is_some_and(|list| list.len() != trees.len()) {
        return Err(call.wrong("attributes of nodes of different lengths"));
    }
    call.attribute("nodes_hitrates"); // how often training went there
    let mut comparison = None;
    let mut forest: Forest = Vec::new();
    let mut known = HashMap::new();
    for at in 0..trees.len() {
        let is_leaf = modes[at] == "LEAF";
        if !is_leaf {
            let found = match modes[at].as_str() {
                "BRANCH_LEQ" => "le",
                "BRANCH_LT" => "lt",
                "BRANCH_GTE" => "ge",
                "BRANCH_GT" => "gt",
                "BRANCH_EQ" => "eq",
                "BRANCH_NEQ" => "ne",
                other => return Err(call.refuse(format!("the mode {}", crate::text::name(other)))),
            };
            if comparison.is_some_and(|known| known != found) {
                return Err(call.refuse("several modes of conditions"));
            }
            comparison = Some(found);
        }
        let tree = *known.entry(trees[at]).or_insert_with(|| {
            forest.push((trees[at], HashMap::new(), nodes[at]));
            forest.len() - 1
        });
        let takes_missing = missing.as_ref().is_some_and(|list| list[at] != 0);
        let next = [yes[at], no[at]];
        let node = Node { feature: features[at], threshold: thresholds[at], is_leaf, takes_missing, next };
        forest[tree].1.insert(nodes[at], node);
    }
    Ok((forest, comparison.unwrap_or("le")))
}

fn trees(call: &Call, columns: usize) -> Result<Trees> {
    let (forest, comparison) = forest(call)?;
    let count =
        |tree: &HashMap<i64, Node>, leaves: bool| tree.values().filter(|node| node.is_leaf == leaves).count().max(1);
    let conditions = forest.iter().map(|(_, tree, _)| count(tree, false)).max().unwrap_or(0);
    let leaves = forest.iter().map(|(_, tree, _)| count(tree, true)).max().unwrap_or(0);
    let total = forest.len();
    if total == 0 {
        return Err(call.wrong("there is no tree"));
    }
    let mut trees = Trees {
        count: total,
        conditions,
        leaves,
        comparison,
        features: vec![0; checked_length(&[total, conditions], MOST)?],
        thresholds: vec![0.0; total * conditions],
        takes_missing: vec![false; total * conditions],
        ways: vec![0.0; checked_length(&[total, conditions, leaves], MOST)?],
        needed: vec![NEVER; checked_length(&[total, leaves], MOST)?],
        places: HashMap::new(),
    };
    for (at, (number, nodes, first)) in forest.iter().enumerate() {
        let mut walk = Walk { call, trees: &mut trees, at, number: *number, nodes, columns, seen: [0, 0] };
        walk.from(*first, &mut Vec::new())?;
    }
    Ok(trees)
}

/// One tree, from its first node on.
struct Walk<'w, 'c, 'b, 'a> {
    call: &'w Call<'b, 'a>,
    trees: &'c mut Trees,
    at: usize,
    number: i64,
    nodes: &'w HashMap<i64, Node>,
    columns: usize,
    /// Conditions and leaves that were seen.
    seen: [usize; 2],
}

impl Walk<'_, '_, '_, '_> {
    /// `way` are the conditions before a node, with the answers that led to it.
    fn from(&mut self, node: i64, way: &mut Vec<(usize, bool)>) -> Result<()> {
        let wrong = |what: &str| self.call.wrong(format!("tree {}: {what}", self.number));
        let found = self.nodes.get(&node).ok_or_else(|| wrong("a node that is not there"))?;
        let trees = &mut *self.trees;
        if found.is_leaf {
            let leaf = self.seen[1];
            self.seen[1] += 1;
            if leaf >= trees.leaves || trees.places.insert((self.number, node), self.at * trees.leaves + leaf).is_some()
            {
                return Err(wrong("a leaf that several ways lead to"));
            }
            for &(condition, answer) in way.iter() {
                trees.ways[(self.at * trees.conditions + condition) * trees.leaves + leaf] =
                    if answer { 1.0 } else { -1.0 };
            }
            trees.needed[self.at * trees.leaves + leaf] = way.iter().filter(|(_, answer)| *answer).count() as f64;
            return Ok(());
        }
        let condition = self.seen[0];
        self.seen[0] += 1;
        let is_column = usize::try_from(found.feature).is_ok_and(|feature| feature < self.columns);
        if condition >= trees.conditions || way.len() >= DEEPEST || !is_column {
            return Err(wrong("a circle, too many conditions, or a column that is not there"));
        }
        trees.features[self.at * trees.conditions + condition] = found.feature;
        trees.thresholds[self.at * trees.conditions + condition] = found.threshold;
        trees.takes_missing[self.at * trees.conditions + condition] = found.takes_missing;
        let next = found.next;
        for (node, answer) in next.into_iter().zip([true, false]) {
            way.push((condition, answer));
            self.from(node, way)?;
            way.pop();
        }
        Ok(())
    }
}

/// Sums [events, outputs] of the leaves that are reached; `part` begins the names of the attributes of leaves.
fn sums(call: &mut Call, part: &str, outputs: usize, ids: &[i64]) -> Result<Value> {
    let x = columns(call)?;
    let [events, width] = x.shape()[..] else { return Err(call.wrong("the input has no columns")) };
    let trees = trees(call, width)?;
    let (owners, nodes) = (list(call, &format!("{part}_treeids"))?, list(call, &format!("{part}_nodeids"))?);
    let weights = call.floats(&format!("{part}_weights"))?.unwrap_or_default();
    if [owners.len(), nodes.len(), weights.len()] != [ids.len(); 3] {
        return Err(call.wrong("attributes of leaves of different lengths"));
    }
    let mut values = vec![0.0; checked_length(&[trees.count, trees.leaves, outputs], MOST)?];
    for at in 0..ids.len() {
        let place = trees.places.get(&(owners[at], nodes[at])).copied();
        let output = usize::try_from(ids[at]).ok().filter(|output| *output < outputs);
        let (Some(place), Some(output)) = (place, output) else {
            return Err(call.wrong("a value of a leaf or for an output that is not there"));
        };
        values[place * outputs + output] += weights[at];
    }
    let Trees { count, conditions, leaves, features, thresholds, .. } = trees;
    let chosen = super::chosen::selected(call, &x, 1, features)?;
    let thresholds = Value::Known(Known::floats(&[count * conditions], thresholds));
    let answers = call.elementwise(trees.comparison, "Tensor", &[&chosen, &thresholds], vec![], Element::Bool)?;
    let answers = match trees.takes_missing.contains(&true) {
        true => or_missing(call, &answers, &chosen, &trees.takes_missing)?,
        false => answers,
    };
    let answers = numbers(call, &answers)?;
    let answers = reshaped(call, &answers, &[events, count, conditions])?;
    let answers = permuted(call, &answers, &[1, 0, 2])?;
    let ways = Value::Known(Known::floats(&[count, conditions, leaves], trees.ways));
    let found = product(call, &answers, &ways, &[count, events, leaves])?;
    let needed = Value::Known(Known::floats(&[count, 1, leaves], trees.needed));
    let reached = call.elementwise("eq", "Tensor", &[&found, &needed], vec![], Element::Bool)?;
    let reached = numbers(call, &reached)?;
    let own = call.node.outputs.last().copied().unwrap_or_default();
    let shape = [count, leaves, outputs];
    let leaves = Value::Known(Known { name: format!("{own}.leaves").into(), ..Known::floats(&shape, values) });
    let leaves = super::layers::parameter(call, &leaves, &shape)?;
    let arguments = vec![call.number(&reached)?, leaves];
    let each = call.op("matmul", "", arguments, &[count, events, outputs], Element::Float32)?;
    let arguments = vec![call.number(&each)?, integers(&[0]), Bool(false), Absent];
    let total = call.op("sum", "dim_IntList", arguments, &[events, outputs], Element::Float32)?;
    let total = match call.text("aggregate_function", "SUM")? {
        "SUM" => total,
        "AVERAGE" => call.affine(&total, 1.0 / count as f64, 0.0)?,
        other => {
            let other = crate::text::name(other);
            return Err(call.refuse(format!("the aggregate {other}")));
        }
    };
    match call.floats("base_values")? {
        Some(list) if list.len() == outputs => call.add(&total, &Value::Known(Known::floats(&[outputs], list))),
        Some(list) if !list.is_empty() => Err(call.wrong(format!("{} base values for {outputs} outputs", list.len()))),
        _ => Ok(total),
    }
}

/// Answers that are true too where a feature is NaN and the condition takes that for true.
fn or_missing(call: &mut Call, answers: &Value, features: &Value, takes: &[bool]) -> Result<Value> {
    let tensor = call.number(features)?;
    let missing = call.op("isnan", "", vec![tensor], features.shape(), Element::Bool)?;
    let takes = Known::integers(&[takes.len()], takes.iter().map(|&takes| i64::from(takes)).collect());
    let takes = Value::Known(Known { element: Element::Bool, ..takes });
    let taken = call.elementwise("logical_and", "", &[&missing, &takes], vec![], Element::Bool)?;
    call.elementwise("logical_or", "", &[answers, &taken], vec![], Element::Bool)
}

/// Truth values as 0 and 1.
fn numbers(call: &mut Call, mask: &Value) -> Result<Value> {
    let tensor = call.b.tensor(mask)?;
    call.op("to", "", vec![tensor], mask.shape(), Element::Float32)
}

fn product(call: &mut Call, a: &Value, b: &Value, shape: &[usize]) -> Result<Value> {
    let arguments = vec![call.number(a)?, call.b.tensor(b)?];
    call.op("matmul", "", arguments, shape, Element::Float32)
}

fn regressor(call: &mut Call) -> Outputs {
    let outputs = call.sizes(&[call.integer("n_targets", 1)?])?[0];
    let ids = list(call, "target_ids")?;
    let after = call.text("post_transform", "NONE")?;
    if outputs == 1 && after != "NONE" {
        let after = crate::text::name(after);
        return Err(call.refuse(format!(
            "the post_transform {after} of one target, which the standard applies and onnxruntime leaves out,"
        )));
    }
    let total = sums(call, "target", outputs, &ids)?;
    Ok(vec![transformed(call, &total)?])
}

/// Scores of the classes; its labels are none of what is read.
fn classifier(call: &mut Call) -> Outputs {
    use crate::onnx::read::Attribute;
    let classes =
        ["classlabels_int64s", "classlabels_strings"].into_iter().find_map(|name| match call.attribute(name) {
            Some(Attribute::Integers(list)) if !list.is_empty() => Some(list.len()),
            Some(Attribute::Texts(list)) if !list.is_empty() => Some(list.len()),
            _ => None,
        });
    let classes = classes.ok_or_else(|| call.wrong("there are no labels"))?;
    let ids = list(call, "class_ids")?;
    let is_one = classes == 2 && ids.windows(2).all(|pair| pair[0] == pair[1]);
    let scores = match is_one {
        true => of_two(call, &ids)?,
        false => {
            let total = sums(call, "class", classes, &ids)?;
            transformed(call, &total)?
        }
    };
    Ok(vec![scores])
}

/// Of two classes with values for one of them: a probability p gives 1 - p and p, any other score s gives -s and s.
fn of_two(call: &mut Call, ids: &[i64]) -> Result<Value> {
    let are_positive = call.floats("class_weights")?.unwrap_or_default().iter().all(|&weight| weight >= 0.0);
    let is_logistic = call.text("post_transform", "NONE")? == "LOGISTIC";
    let score = sums(call, "class", 1, &vec![0; ids.len()])?;
    let (first, second) = match (are_positive, is_logistic) {
        (true, _) => {
            let one = number(1.0);
            (call.sub(&one, &score)?, score)
        }
        (false, true) => {
            let negative = call.like("neg", &score, vec![])?;
            (call.like("sigmoid", &negative, vec![])?, call.like("sigmoid", &score, vec![])?)
        }
        (false, false) => (call.like("neg", &score, vec![])?, score),
    };
    super::shape::joined(call, &[first, second], 1)
}
