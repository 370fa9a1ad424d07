// Train support vector machines for several labels on the same samples.
//
// The problem of each label is solved once on all samples and, for Platt's calibration, once per fold without the
// held-out copies. The solver of a fold starts from the solution on all samples: on average, five folds take less than
// twice as long as the first solution.

#pragma once

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "support/interrupt.hpp"
#include "support/parallel.hpp"
#include "support/views.hpp"
#include "svm/platt.hpp"
#include "svm/smo.hpp"

namespace fuselearn::svm {

// With thousands of values, a lower precision suffices: probabilities change by less than 0.001.
constexpr double fold_slack = 10.0;

struct Training {
    GramMatrix gram;
    std::span<const double> weights;
    double cost;                 // the bound of a coefficient is the cost times the weight of its sample
    Matrix<const double> folds;  // (n_folds, n_samples), the weight of each sample that is left out in each fold
    Effort effort;
};

// Where to write the results for one label.
struct Machine {
    std::span<double> coefficients;
    std::span<double> left_out;  // decision values of samples left out, fold by fold; a sigmoid is fitted to them
    double& intercept;
    double& slope;
    double& offset;
    bool& converged;
};

// Decision values of held-out samples, ordered by fold.
class LeftOut {
public:
    explicit LeftOut(std::size_t n_values) {
        for (Reals* part : {&decisions_.values, &decisions_.signs, &decisions_.weights}) part->reserve(n_values);
    }

    // Append what decide(sample) returns for the samples of a fold.
    template <class Decide>
    void append(std::span<const double> fold, std::span<const double> signs, const Decide& decide) {
        for (Index k = 0; k < ssize(fold); ++k) {
            if (!(fold[k] > 0)) continue;
            decisions_.values.push_back(decide(k));
            decisions_.signs.push_back(signs[k]);
            decisions_.weights.push_back(fold[k]);
        }
    }

    // Fit the sigmoid of an SVM.
    void calibrate(const Machine& machine) const {
        const Sigmoid sigmoid = SigmoidFit(decisions_).find();
        machine.slope = sigmoid.slope;
        machine.offset = sigmoid.offset;
        std::copy(decisions_.values.begin(), decisions_.values.end(), machine.left_out.begin());
    }

private:
    Decisions decisions_;
};

// Cut coefficients to lower bounds, and take as much from the other side, from the samples that want it most.
inline void move_inside(const Question& question, Solution& solution) {
    const Index n = question.size();
    Reals changes(question.signs.size());
    double surplus = 0.0;
    for (Index k = 0; k < n; ++k) {
        const double coefficient = solution.coefficients[k];
        const double inside = std::max(std::min(coefficient, question.upper[k]), question.lower[k]);
        changes[k] = coefficient - inside;
        solution.coefficients[k] = inside;
        surplus += inside;
    }
    add_rows<float>(solution.residuals, question.gram, all_samples(n), changes);
    if (surplus == 0.0) return;

    const double heavy = surplus > 0.0 ? 1.0 : -1.0;
    Reals barred(changes.size());
    for (Index k = 0; k < n; ++k) barred[k] = heavy * solution.coefficients[k] > 0.0 ? 0.0 : -infinity<double>;
    Index most = 0;
    double change = 0.0;
    while (true) {
        const Best<double> best = vectorized<add_and_find>(solution.residuals.data(), std::as_const(barred).data(),
                                                           question.gram.row(most).data(), heavy * change, -heavy, n);
        if (!(heavy * surplus > 0.0) || best.value == -infinity<double>) return;
        most = best.sample;
        change = std::min(heavy * solution.coefficients[most], heavy * surplus);
        solution.coefficients[most] -= heavy * change;
        surplus -= heavy * change;
        if (!(heavy * solution.coefficients[most] > 0.0)) barred[most] = -infinity<double>;
    }
}

inline void train_column(const Training& training, std::span<const double> signs, const Machine& machine,
                         Interrupt& interrupt) {
    const Index n = ssize(signs);
    const auto& [gram, weights, cost, folds, effort] = training;
    Reals bounds(signs.size());
    for (Index k = 0; k < n; ++k) bounds[k] = cost * weights[k];
    Question question(gram, signs, bounds);
    Solution solution(signs);
    machine.converged = improve(question, solution, effort, interrupt);
    machine.intercept = find_intercept(question, solution);
    std::copy(solution.coefficients.begin(), solution.coefficients.end(), machine.coefficients.begin());
    machine.slope = machine.offset = 0.0;
    if (folds.n_rows() == 0) return;

    LeftOut left_out(machine.left_out.size());
    Solution moved = solution;
    for (Index f = 0; f < folds.n_rows(); ++f) {
        const std::span<const double> fold = folds.row(f);
        for (Index k = 0; k < n; ++k) bounds[k] = larger(cost * (weights[k] - fold[k]), 0.0);
        question.set_bounds(bounds);
        moved = solution;
        move_inside(question, moved);
        machine.converged &= improve(question, moved, {effort.max_steps, fold_slack * effort.tolerance}, interrupt);
        const double intercept = find_intercept(question, moved);
        left_out.append(fold, signs, [&](Index k) { return signs[k] - moved.residuals[k] + intercept; });
    }
    left_out.calibrate(machine);
}

}  // namespace fuselearn::svm
