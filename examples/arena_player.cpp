// A program for `muzero2048 tournament` on 2048 (docs/tournament.md). g++ -O2 -std=c++17 -o arena_player arena_player.cpp
#include <array>
#include <iostream>
#include <sstream>
#include <string>
using Board = std::array<int, 16>;  // cells row by row; log2 of the tile, 0 = empty

Board slide(const Board& board, char action) {
    Board after{};
    for (int line = 0; line < 4; ++line) {
        auto cell = [&](int place) {
            if (action == 'D' || action == 'R') place = 3 - place;
            return action == 'U' || action == 'D' ? 4 * place + line : 4 * line + place;
        };
        int count = 0, open = 0;  // open: the last tile may still merge
        for (int place = 0; place < 4; ++place) {
            int tile = board[cell(place)];
            if (!tile) continue;
            if (open && after[cell(count - 1)] == tile) ++after[cell(count - 1)], open = 0;
            else after[cell(count++)] = tile, open = 1;
        }
    }
    return after;
}
int main() {
    Board board{};
    bool placing = false;
    for (std::string text, game, action; std::getline(std::cin, text);) {
        std::istringstream(text) >> game >> action;
        if (action == "open") board = {}, placing = false, std::cout << game << " open accept" << std::endl;
        else if (action == "?" && !placing) {
            for (char move : std::string("DLRU"))
                if (auto next = slide(board, move); next != board) { board = next; std::cout << game << " #" << move << std::endl; break; }
        } else if (action == "?") {
            for (int cell = 15; cell >= 0; --cell)
                if (!board[cell]) { board[cell] = 2, placing = false; std::cout << game << ' ' << "0123456789ABCDEF"[cell] << '2' << std::endl; break; }
        } else if (action[0] == '#') board = slide(board, action[1]), placing = true;
        else if (action.size() == 2) board[std::stoi(action.substr(0, 1), nullptr, 16)] = action[1] - '0';
    }
}
