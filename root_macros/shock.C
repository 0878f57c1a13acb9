/// \file shock.C
/// \brief A shock tube in Lagrangian coordinates as one compiled function, and the gradient of its kinetic energy.
///
/// The scheme is that of von Neumann and Richtmyer, "A Method for the Numerical Calculation of Hydrodynamic Shocks",
/// J. Appl. Phys. 21 (1950) 232: nodes have positions and velocities, cells have energies, and an artificial viscosity
/// spreads shocks over some cells. The problem is that of Sod, J. Comput. Phys. 27 (1978) 1; the density is compared with
/// its exact solution. All steps together are one function of the initial state, which Backward() runs in reverse. The
/// gradient is checked against central differences and LibTorch.
///
///     root -l -b -q root_macros/shock.C
///     root -l 'root_macros/shock.C("cuda:0", 1000000, 50, "output_folder")'
///
/// The device "" is a GPU if there is one. Writes shock.png into the folder: the density, and the derivative by the
/// energy of each cell. Times are printed for 100 cells, a hundred times as many and so on, and for the given number,
/// which must be even; in fewer than 40 steps the waves are as wide as the spread shock. A gradient keeps about 13 kB
/// for each cell in 50 steps.

R__LOAD_LIBRARY(libcladtorch)
#include "compiled_cases.h"

#include <TCanvas.h>
#include <TGraph.h>
#include <TLegend.h>

#include <cmath>
#include <cstdint>

const double kHeatRatio = 1.4;    // diatomic ideal gas
const double kViscosity = 2;      // spreads a shock over about three cells
const double kCourant = 0.15;     // time step over initial cell width; sound crosses less than half a cell per step
const double kMembrane = 0.5;     // the tube reaches from 0 to 1
const double kDensity[2] = {1, 0.125}, kPressure[2] = {1, 0.1}; // left and right of the membrane
const double kLargestSpeed = 2.2; // range of the plots; the shock's speed is 1.75

/// Constants of a run.
struct Tube {
   Tensor fCellMass; // [cells]
   Tensor fNodeMass; // [cells - 1], half of both neighbours; the walls are fixed
   double fTimeStep;
   int fSteps;

   double Time() const { return fTimeStep * fSteps; }
};

/// Results of a run, in the order in which the function returns them.
enum EResult { kKineticEnergy, kPositions, kCellDensity };

/// [n - 1], each element minus the previous one.
Tensor Differences(const Tensor &x)
{
   const auto count = x.size(0) - 1;
   return x.narrow(0, 1, count) - x.narrow(0, 0, count);
}

/// \param x [cells + 1], positions of nodes
/// \param u [cells - 1], velocities of the nodes between the walls, half a step earlier
/// \param e [cells], energies per mass
Tensors Run(Tensor x, Tensor u, Tensor e, const Tube &tube)
{
   const double dt = tube.fTimeStep;
   auto width = Differences(x), viscosity = torch::zeros_like(e);
   for (int step = 0; step < tube.fSteps; ++step) {
      const auto pressure = (kHeatRatio - 1) * e * tube.fCellMass / width;
      u = u - dt * Differences(pressure + viscosity) / tube.fNodeMass;
      const auto velocity = torch::constant_pad_nd(u, {1, 1});
      x = x + dt * velocity;
      width = Differences(x);
      const auto stretch = Differences(velocity), change = dt * stretch;
      const auto squared = torch::where(stretch < 0, stretch * stretch, torch::zeros_like(stretch));
      viscosity = kViscosity * tube.fCellMass / width * squared;
      // The work of the mean of the old and the new pressure; the pressure of an ideal gas is proportional to its
      // energy.
      e = (e - (0.5 * pressure + viscosity) * change / tube.fCellMass) / (1 + 0.5 * (kHeatRatio - 1) * change / width);
   }
   return {0.5 * (tube.fNodeMass * u * u).sum(), x, tube.fCellMass / width};
}

/// [cells], with these values left and right of the membrane.
Tensor Halves(double left, double right, std::int64_t cells, torch::TensorOptions options)
{
   return torch::cat({torch::full({cells / 2}, left, options), torch::full({cells - cells / 2}, right, options)});
}

/// The constants of Sod's problem.
Tube SodTube(std::int64_t cells, int steps, torch::Device device)
{
   const auto options = torch::dtype(torch::kFloat64).device(device);
   const auto mass = Halves(kDensity[0] / cells, kDensity[1] / cells, cells, options);
   const auto nodeMass = 0.5 * (mass.narrow(0, 0, cells - 1) + mass.narrow(0, 1, cells - 1));
   return {mass, nodeMass, kCourant / cells, steps};
}

/// Sod's initial state: gas at rest, with one density and one pressure on each side.
Tensors SodState(const Tube &tube)
{
   const auto options = tube.fCellMass.options();
   const auto cells = tube.fCellMass.size(0);
   const auto energy = [](int side) { return kPressure[side] / ((kHeatRatio - 1) * kDensity[side]); };
   return {torch::arange(cells + 1, options) / cells, torch::zeros({cells - 1}, options),
           Halves(energy(0), energy(1), cells, options)};
}

/// The function of the initial state that is compiled.
std::function<Tensors(const Tensors &)> FunctionOf(const Tube &tube)
{
   return [tube](const Tensors &state) { return Run(state[0], state[1], state[2], tube); };
}

/// Adjoints that choose the kinetic energy.
Tensors AdjointsOf(const Tensors &results)
{
   return {torch::ones_like(results[kKineticEnergy]), torch::zeros_like(results[kPositions]),
           torch::zeros_like(results[kCellDensity])};
}

/// The exact density at a distance of `speed` times the time from the membrane. The values between rarefaction and
/// shock are those of Toro, "Riemann Solvers and Numerical Methods for Fluid Dynamics" (2009), chapter 4, test 1.
double ExactDensity(double speed)
{
   const double pressure = 0.30313, velocity = 0.92745, left = 0.42632, right = 0.26557;
   const double sound = std::sqrt(kHeatRatio * kPressure[0] / kDensity[0]);
   const double soundAtTail = std::sqrt(kHeatRatio * pressure / left);
   const double shock = velocity * right / (right - kDensity[1]); // mass is conserved
   if (speed < -sound)
      return kDensity[0];
   if (speed < velocity - soundAtTail)
      return kDensity[0] * std::pow((2 - (kHeatRatio - 1) * speed / sound) / (kHeatRatio + 1), 2 / (kHeatRatio - 1));
   if (speed < velocity)
      return left;
   return speed < shock ? right : kDensity[1];
}

/// The plotted values of a cell that waves have reached.
struct Cell {
   double fSpeed;      // distance from the membrane over time, the only variable of the exact solution
   double fWidth;
   double fDensity;
   double fDerivative; // of the kinetic energy by the energy of the cell
};

/// The cells around the membrane, to a little beyond rarefaction and shock.
/// \param derivatives [cells], by energies per mass
std::vector<Cell> Waves(const Tensors &results, const Tensor &derivatives, const Tube &tube)
{
   const auto x = results[kPositions].to(torch::kCPU), density = results[kCellDensity].to(torch::kCPU);
   const auto slope = (derivatives / tube.fCellMass).to(torch::kCPU);
   const auto *nodes = x.data_ptr<double>();
   std::vector<Cell> cells;
   for (std::int64_t i = 0; i < density.size(0); ++i) {
      const double speed = (0.5 * (nodes[i] + nodes[i + 1]) - kMembrane) / tube.Time();
      if (std::fabs(speed) < kLargestSpeed)
         cells.push_back({speed, nodes[i + 1] - nodes[i], density.data_ptr<double>()[i], slope.data_ptr<double>()[i]});
   }
   return cells;
}

/// The mean deviation of the density from the exact one, over the exact mean.
double DensityError(const std::vector<Cell> &cells)
{
   double distance = 0, sum = 0;
   for (const auto &cell : cells) {
      const double exact = ExactDensity(cell.fSpeed);
      distance += cell.fWidth * std::fabs(cell.fDensity - exact);
      sum += cell.fWidth * exact;
   }
   return distance / sum;
}

/// Leaves room for the axes' titles, and draws with the axes of the first graph.
void DrawOn(TVirtualPad *pad, const std::vector<std::pair<TGraph *, const char *>> &graphs)
{
   pad->cd();
   pad->SetMargin(0.13, 0.03, 0.13, 0.1);
   for (const auto &[graph, option] : graphs)
      graph->Draw(option);
}

void Draw(const std::vector<Cell> &cells, const std::string &file)
{
   auto *density = new TGraph, *exact = new TGraph, *derivative = new TGraph;
   for (const auto &cell : cells) {
      density->AddPoint(cell.fSpeed, cell.fDensity);
      derivative->AddPoint(cell.fSpeed, cell.fDerivative);
   }
   for (double speed = -kLargestSpeed; speed < kLargestSpeed; speed += 0.002)
      exact->AddPoint(speed, ExactDensity(speed));
   density->SetMarkerStyle(kFullCircle);
   density->SetMarkerSize(0.6);
   exact->SetLineColor(kRed);
   exact->SetTitle("Sod's shock tube;Distance from the membrane / time;Density");
   derivative->SetTitle("Gradient;Distance from the membrane / time;d kinetic energy / d energy of the cell");
   auto *canvas = new TCanvas("shock", "Shock tube", 1200, 500);
   canvas->Divide(2, 1);
   DrawOn(canvas->GetPad(1), {{exact, "AL"}, {density, "P"}});
   auto *legend = new TLegend(0.55, 0.72, 0.95, 0.88);
   legend->AddEntry(density, "Compiled function", "p");
   legend->AddEntry(exact, "Exact solution", "l");
   legend->Draw();
   DrawOn(canvas->GetPad(2), {{derivative, "AL"}});
   canvas->SaveAs(file.c_str());
}

/// Derivatives along a random direction of each input.
void CheckAgainstDifferences(int steps, torch::Device device)
{
   const std::int64_t cells = 100;
   const auto tube = SodTube(cells, steps, device);
   const auto function = FunctionOf(tube);
   const auto state = SodState(tube);
   const auto compiled = CladTorch::Compile(function, state);
   const auto gradients = compiled.Backward(AdjointsOf(compiled.ForwardAll(state)));
   const std::vector<std::string> names = {"positions", "velocities", "energies"};
   // The second derivative jumps at a cell at rest, where the viscosity sets in: the error is of first order in the
   // shift.
   const std::vector<double> shifts = {1e-7 / cells, 1e-7, 1e-7};
   torch::manual_seed(1);
   for (std::size_t i = 0; i < state.size(); ++i) {
      const auto direction = torch::randn(state[i].sizes(), torch::kFloat64).to(device);
      const auto energy = [&](double shift) {
         auto moved = state;
         moved[i] = state[i] + shift * direction;
         return function(moved)[kKineticEnergy].item<double>();
      };
      const double expected = (energy(shifts[i]) - energy(-shifts[i])) / (2 * shifts[i]);
      const double found = (gradients[i] * direction).sum().item<double>();
      RequireBelow(std::fabs(found / expected - 1), 1e-6, "central differences by " + names[i]);
   }
}

void CheckAgainstLibTorch(const Tensors &gradients, const Tube &tube, const Tensors &state)
{
   const auto leaves = Leaves(state);
   const auto wanted = torch::autograd::grad({FunctionOf(tube)(leaves)[kKineticEnergy]}, leaves);
   for (std::size_t i = 0; i < wanted.size(); ++i)
      RequireBelow(ErrorOf(gradients[i], wanted[i]), 1e-9, "gradient against LibTorch, input " + std::to_string(i));
}

/// Times function and gradient. The compiled function keeps the values of all steps, LibTorch without gradients does
/// not: with many cells LibTorch's function is faster, and gradients are compared with both.
void Time(std::int64_t cells, int steps, torch::Device device)
{
   const auto tube = SodTube(cells, steps, device);
   const auto state = SodState(tube), leaves = Leaves(state);
   const auto function = FunctionOf(tube);
   const auto compiled = CladTorch::Compile(function, state);
   const auto adjoints = AdjointsOf(compiled.ForwardAll(state));
   const auto withoutGradients = [&state](std::function<Tensors(const Tensors &)> run) {
      return [&state, run] {
         const torch::NoGradGuard off;
         run(state);
      };
   };
   const auto timings = TimeInTurn({withoutGradients([&](const Tensors &given) { return compiled.CallAll(given); }),
                                    [&] {
                                       compiled.ForwardAll(state);
                                       compiled.Backward(adjoints);
                                    },
                                    withoutGradients(function),
                                    [&] { torch::autograd::grad({function(leaves)[kKineticEnergy]}, leaves); }},
                                   device);
   const auto ratio = [&](int gradient, int primal) { return timings[gradient].fMedian / timings[primal].fMedian; };
   std::printf("%lld cells\n", static_cast<long long>(cells));
   Print("   function, compiled", timings[0]);
   Print("   function with gradient, compiled", timings[1]);
   Print("   function, LibTorch", timings[2]);
   Print("   function with gradient, LibTorch", timings[3]);
   std::printf("   compiled, with gradient over without: %.2f, over LibTorch without: %.2f\n", ratio(1, 0), ratio(1, 2));
   std::printf("   LibTorch, with gradient over without: %.2f\n", ratio(3, 2));
}

/// Checks the gradient, and the density against the exact solution.
void Check(std::int64_t cells, int steps, torch::Device device, const std::string &folder)
{
   const auto tube = SodTube(cells, steps, device);
   const auto state = SodState(tube);
   TStopwatch watch;
   const auto compiled = CladTorch::Compile(FunctionOf(tube), state);
   std::printf("compiled in %.2f s\n", watch.RealTime());
   RequireKernels(compiled);
   const auto results = compiled.ForwardAll(state);
   const auto gradients = compiled.Backward(AdjointsOf(results));
   CheckAgainstDifferences(steps, device);
   CheckAgainstLibTorch(gradients, tube, state);
   const auto waves = Waves(results, gradients[2], tube);
   RequireBelow(DensityError(waves), 0.05, "density against Sod's exact solution, mean relative distance");
   Draw(waves, folder + "/shock.png");
}

void shock(const char *device = "", std::size_t cells = 1000, int steps = 50, const std::string &folder = "shock_out")
{
   Require(cells % 2 == 0 && steps >= 40, "shock takes an even number of cells and 40 steps or more");
   const auto place = DeviceFor(device);
   std::printf("%zu cells, %d steps on %s\n", cells, steps, place.str().c_str());
   gSystem->mkdir(folder.c_str(), true);
   Check(cells, steps, place, folder);
   for (std::size_t fewer = 100; fewer < cells; fewer *= 100)
      Time(fewer, steps, place);
   Time(cells, steps, place);
}
