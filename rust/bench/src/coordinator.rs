//! Rounds: every party in its turn, on every case.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};

use super::case::{Agreement, Case, Group};
use super::conclude::{Tried, conclude};
use super::party::{OURS, Party};
use super::record::{Outcome, Skipped};
use super::worker::{Turn, Worker};

/// Sides of the matrices whose product shows what the machine can do.
const GAUGE_SIZES: [u32; 4] = [256, 512, 1024, 1536];

/// A party with its process, and its results in the present case.
struct Member {
    who: &'static str,
    worker: Worker,
    cases: fn(&str) -> bool,
    /// Whether it has no part in the present case.
    absent: bool,
    /// Turns that it takes in the present case.
    share: u32,
    tried: Tried,
    /// Why it has dropped out of the present case.
    out: Option<String>,
}

impl Member {
    /// Runs `work`, unless the party is absent or has dropped out; an error makes it drop out.
    fn attempt(&mut self, work: impl FnOnce(&mut Self) -> Result<()>) {
        if !self.absent
            && self.out.is_none()
            && let Err(error) = work(self)
        {
            self.out = Some(format!("{error:#}"));
        }
    }

    fn check(&mut self) -> Result<()> {
        let check = self.worker.ask_number("check", "check")?;
        self.tried.checks.push(check);
        Ok(())
    }

    /// Its next turn; if each turn is a process of its own, the time includes its start.
    fn turn(&mut self, group: &Group, request: &str, steps: u64, seed: u32) -> Result<Turn> {
        if !group.fresh {
            return self.worker.round(steps, seed);
        }
        self.worker.end();
        let start = Instant::now();
        self.worker.restart()?;
        self.worker.ask(&format!("case {request}"), "ready")?;
        let turn = self.worker.round(steps, seed)?;
        let seconds = start.elapsed().as_secs_f64();
        Ok(Turn { seconds, start: Some(seconds - turn.seconds), ..turn })
    }
}

/// Runs `cases` with `parties`, which have `threads` threads each. A party that fails is skipped, by name. `gauge`
/// knows how fast the machine multiplies matrices, which gives cases a floor.
pub fn run(
    group: &Group,
    cases: &[Case],
    parties: Vec<Party>,
    gauge: Option<Party>,
    threads: usize,
    rounds: u32,
    out: &Path,
) -> Result<Outcome> {
    let mut outcome = Outcome::default();
    let mut members = hire(group, parties, threads, out, &mut outcome)?;
    let mut gauges = hire(group, gauge.into_iter().collect(), threads, out, &mut outcome)?;
    let mut rate: f64 = 0.0;
    for case in cases {
        println!("==> {} {}, {threads} thread(s)", group.name, case.name);
        let scratch = Scratch::new(out)?;
        let request = match (case.prepare)(&scratch.0) {
            Ok(request) => request,
            Err(error) => {
                skip(&mut outcome, "everybody", threads, Some(case.name.clone()), format!("{error:#}"));
                continue;
            }
        };
        rate = rate.max(product_rate(&mut gauges));
        take_turns(group, case, &request, rounds, &mut members);
        rate = rate.max(product_rate(&mut gauges));
        let present = members.iter().filter(|member| !member.absent && member.out.is_none());
        let tried: Vec<_> = present.map(|member| (member.who, &member.tried)).collect();
        outcome.records.extend(conclude(group, case, &request, threads, &tried));
        for member in &members {
            if let Some(reason) = &member.out {
                skip(&mut outcome, member.who, threads, Some(case.name.clone()), reason.clone());
            }
        }
    }
    if rate > 0.0 {
        outcome.rates.push((threads, rate));
        for record in &mut outcome.records {
            let case = cases.iter().find(|case| case.name == record.case);
            record.floor_s = case.and_then(|case| case.flops).map(|flops| flops / rate);
        }
    }
    Ok(outcome)
}

/// Starts the parties' processes; parties that cannot be started are skipped.
fn hire(group: &Group, parties: Vec<Party>, threads: usize, out: &Path, outcome: &mut Outcome) -> Result<Vec<Member>> {
    let logs = out.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;
    let mut members = Vec::new();
    for (number, Party { who, command, cases }) in parties.into_iter().enumerate() {
        let log = logs.join(format!("{}-{number}-{who}-{threads}.txt", group.name));
        match command.and_then(|command| Worker::start(command, &log).map_err(|error| format!("{error:#}"))) {
            Ok(mut worker) => {
                if group.fresh {
                    worker.end(); // it was only tried out
                }
                let tried = Tried::default();
                members.push(Member { who, worker, cases, absent: false, share: 0, tried, out: None });
            }
            Err(reason) => skip(outcome, who, threads, None, reason),
        }
    }
    Ok(members)
}

fn skip(outcome: &mut Outcome, who: &str, threads: usize, case: Option<String>, reason: String) {
    let reason = shorten(&reason);
    println!("skipped: {who}{}: {reason}", case.as_ref().map(|case| format!(" in {case}")).unwrap_or_default());
    outcome.skipped.push(Skipped { who: who.to_owned(), threads, case, reason });
}

/// The beginning and the end: ROOT's errors list template arguments by the thousand.
fn shorten(reason: &str) -> String {
    const KEPT: usize = 120;
    let characters: Vec<char> = reason.chars().collect();
    if characters.len() <= 2 * KEPT {
        return reason.to_owned();
    }
    let text = |part: &[char]| part.iter().collect::<String>();
    format!("{} ... {}", text(&characters[..KEPT]), text(&characters[characters.len() - KEPT..]))
}

/// The best present rate of a product of matrices; 0 if nothing measures it.
fn product_rate(gauges: &mut [Member]) -> f64 {
    let sizes = || GAUGE_SIZES.iter().map(|size| format!("sgemm size={size}"));
    let rates = gauges.iter_mut().flat_map(|gauge| sizes().map(|size| gauge.worker.ask_number(&size, "rate")));
    rates.flatten().fold(0.0, f64::max)
}

/// Warm-up and rounds. The party that begins changes from round to round.
fn take_turns(group: &Group, case: &Case, request: &str, rounds: u32, members: &mut [Member]) {
    for member in members.iter_mut() {
        (member.out, member.tried, member.absent) = (None, Tried::default(), !(member.cases)(&case.name));
        member.attempt(|member| {
            if !group.fresh {
                member.worker.ask(&format!("case {request}"), "ready")?;
            }
            if matches!(group.agreement, Agreement::Loss { .. }) {
                member.tried.before = Some(member.worker.ask_number("check", "check")?);
            }
            member.tried.first = member.turn(group, request, 1, 0)?.seconds;
            for _ in 0..case.warm_up {
                member.turn(group, request, case.steps, 0)?;
            }
            // If parties take part in different numbers of rounds, only here have all made the same number of steps.
            if group.patience.is_some() && !group.agreement.each_round() {
                member.check()?;
            }
            member.share = share(group, member, case.steps, rounds);
            Ok(())
        });
    }
    let parties = members.len();
    for round in 0..rounds {
        for turn in 0..parties {
            members[(turn + round as usize) % parties].attempt(|member| {
                if !has_turn(round, member.share, rounds) {
                    return Ok(());
                }
                if case.lead > 0 {
                    member.worker.round(case.lead, 0)?;
                }
                let turn = member.turn(group, request, case.steps, round + 1)?;
                member.tried.turns.push(turn);
                if group.agreement.each_round() || (round + 1 == rounds && group.patience.is_none()) {
                    member.check()?;
                }
                Ok(())
            });
        }
    }
}

/// In how many of `rounds` a party takes part: by the time of its first repetition, if patience is limited.
fn share(group: &Group, member: &Member, steps: u64, rounds: u32) -> u32 {
    const LEAST: u32 = 3;
    match group.patience {
        Some(patience) if member.who != OURS => {
            let affordable = patience / (member.tried.first * steps as f64);
            rounds.min((affordable as u32).max(LEAST))
        }
        _ => rounds,
    }
}

/// Whether a party with `share` of `rounds` turns has one in this round; always in the last.
fn has_turn(round: u32, share: u32, rounds: u32) -> bool {
    let before = |round: u32| u64::from(round) * u64::from(share) / u64::from(rounds);
    before(round + 1) > before(round)
}

/// A folder for the files of one case, removed afterwards.
struct Scratch(PathBuf);

impl Scratch {
    fn new(out: &Path) -> Result<Self> {
        let folder = out.join(format!("scratch-{}", std::process::id()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(Self(folder))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::has_turn;

    #[test]
    fn turns_are_spread_over_the_rounds_and_end_with_the_last() {
        let turns = |share, rounds| (0..rounds).filter(|&round| has_turn(round, share, rounds)).collect::<Vec<_>>();
        assert_eq!(turns(3, 9), [2, 5, 8]);
        assert_eq!(turns(4, 9), [2, 4, 6, 8]);
        assert_eq!(turns(9, 9), (0..9).collect::<Vec<_>>());
    }
}
