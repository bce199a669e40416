"""The functions that docs/course/starters/learned_model.py leaves out."""


def learn(model, cells, action, outcome):
    model.outcomes[cells, action][outcome] += 1


def plan(model):
    values = {cells: [0.0] * 4 for cells, _ in model.outcomes}
    for _ in range(40):
        best = {cells: max(of_actions) for cells, of_actions in values.items()}
        for (cells, action), outcomes in model.outcomes.items():
            if set(outcomes) == {(0, False, cells)}:  # it changes nothing
                values[cells][action] = -1.0
                continue
            total = sum(
                count * (reward + (0.0 if is_over else best.get(following, 0.0)))
                for (reward, is_over, following), count in outcomes.items()
            )
            values[cells][action] = total / sum(outcomes.values())
    return values


def explore(model, values, cells):
    def preference(action):
        outcomes = model.outcomes.get((cells, action), {})
        if set(outcomes) == {(0, False, cells)}:  # it changes nothing
            return -1.0
        tried = sum(outcomes.values())
        return 1000.0 / (1 + tried) if tried < 2 else values[cells][action] if cells in values else 0.0

    return max(range(4), key=preference)
